"""Containers, clusters, infrastructure, hosting services, clouds and databases (C7)."""

from fourhands.safety.shell.levels import DANGEROUS, READ_ONLY, SAFE, UNKNOWN
from fourhands.safety.shell.options import Tool, subcommands, words

_DOCKER_RUN = Tool(
    rank=UNKNOWN,
    reason="runs a program in a container",
    takes=words(
        "-v -e -p -u -w -h -l -m -c -a --volume --mount --env --env-file --publish --user --workdir --name "
        "--network --net --entrypoint --hostname "
        "--label --memory --cpus --restart --platform --pull --add-host --dns --device --cap-add --cap-drop "
        "--security-opt --tmpfs --ulimit "
        "--shm-size --gpus --pid --ipc --userns --log-driver --health-cmd --runtime --volumes-from --cidfile "
        "--expose --link --stop-signal"
    ),
    danger={"--privileged": "grants the container all privileges", "--device": "grants the container a device"},
)
_LOOK = Tool(rank=SAFE, operands="text", reason=READ_ONLY)
_COMPOSE = subcommands(
    "ps images logs config top version ls port events",
    "up build pull start stop restart create pause unpause run exec cp scale watch down",
    "rm kill push",
    takes="-f -p --file --project-name --profile --env-file --project-directory",
    down=Tool(
        rank=UNKNOWN,
        reason="stops and removes containers",
        danger={"-v": "deletes volumes", "--volumes": "deletes volumes", "--rmi": "deletes images"},
        takes=words("-t --timeout"),
    ),
)
_OBJECT = subcommands(
    "ls list inspect history",
    "create tag pull build save import load use connect disconnect start stop logs",
    "rm remove prune push",
    why="deletes",
)
_DOCKER = Tool(
    rank=UNKNOWN,
    reason="not known to be harmless",
    takes=words("-H -c -l --host --context --config --log-level --tlscacert --tlscert --tlskey"),
    subs={
        **subcommands(
            "ps images logs inspect version info top port stats diff history search events",
            "run build pull start stop restart create pause unpause exec cp tag commit save load import "
            "export login logout attach rename update wait kill",
            "rm rmi prune push",
            why="deletes or publishes",
        ).subs,
        "run": _DOCKER_RUN,
        "create": _DOCKER_RUN,
        "container": Tool(
            rank=UNKNOWN,
            subs={
                **subcommands("ls ps list inspect logs top stats port diff", "start stop exec cp", "rm prune").subs,
                "run": _DOCKER_RUN,
            },
        ),
        **dict.fromkeys(
            (
                "image",
                "volume",
                "network",
                "secret",
                "config",
                "builder",
                "buildx",
                "manifest",
                "node",
                "service",
                "stack",
                "context",
                "plugin",
            ),
            _OBJECT,
        ),
        "system": subcommands("df info events", "", "prune", why="deletes"),
        "compose": _COMPOSE,
        "swarm": subcommands("", "init join", "leave", why="leaves the cluster"),
    },
)

_KUBE = words(
    "-n -l -o -f -c -k --namespace --context --kubeconfig --selector --output --filename --field-selector "
    "--sort-by --since --tail --cluster --user"
)
_KUBECTL = Tool(
    rank=UNKNOWN,
    reason="not known to be harmless",
    takes=_KUBE,
    subs={
        **subcommands(
            "get describe logs top explain version api-resources api-versions cluster-info diff events",
            "apply create edit patch label annotate scale rollout expose set run exec cp port-forward attach "
            "proxy wait autoscale cordon uncordon taint debug",
            "delete drain replace",
            why="deletes or evicts",
            takes=" ".join(_KUBE),
        ).subs,
        "config": subcommands(
            "view current-context get-contexts get-clusters get-users",
            "use-context set set-context",
            "delete-context delete-cluster unset",
        ),
        "auth": subcommands("can-i whoami", ""),
        "apply": Tool(
            rank=UNKNOWN, reason="changes the cluster", takes=_KUBE, danger={"--prune": "deletes", "--force": "deletes"}
        ),
        "replace": Tool(
            rank=UNKNOWN, reason="changes the cluster", takes=_KUBE, danger={"--force": "deletes and creates anew"}
        ),
    },
)
_TF = {
    "-auto-approve": "changes without asking",
    "--auto-approve": "changes without asking",
    "-destroy": "destroys",
    "--destroy": "destroys",
}
_TERRAFORM = Tool(
    rank=UNKNOWN,
    reason="not known to be harmless",
    subs={
        **subcommands(
            "version validate show output graph providers",
            "plan init fmt get refresh import",
            "destroy force-unlock taint",
        ).subs,
        "output": Tool(rank=UNKNOWN, reason="may print secrets", single=True),
        "show": Tool(rank=UNKNOWN, reason="may print secrets", single=True),
        **{
            name: Tool(rank=UNKNOWN, reason="changes the infrastructure", single=True, danger=_TF)
            for name in ("apply", "plan")
        },
        "state": subcommands("list", "mv show pull", "rm push replace-provider", why="changes the state"),
        "workspace": subcommands("list show", "new select", "delete", why="deletes"),
    },
)
_GH = Tool(
    rank=UNKNOWN,
    reason="changes something at GitHub",
    subs={
        **dict.fromkeys(
            ("issue", "pr"),
            subcommands(
                "list view status diff checks",
                "create comment edit close reopen merge checkout review ready",
                "delete",
                why="deletes",
            ),
        ),
        **dict.fromkeys(
            ("repo", "release", "gist", "label", "cache", "ruleset", "project"),
            subcommands("list view", "create edit clone fork sync download upload", "delete archive", why="deletes"),
        ),
        "run": subcommands("list view watch", "rerun cancel download", "delete"),
        "workflow": subcommands("list view", "run enable disable"),
        "secret": subcommands("list", "set", "delete remove"),
        "ssh-key": subcommands("list", "add", "delete"),
        "variable": subcommands("list", "set", "delete"),
        "auth": subcommands(
            "",
            "login logout refresh setup-git switch",
            "token",
            why="C5.4 prints a token",
            status=Tool(
                rank=SAFE, operands="text", danger={"-t": "C5.4 prints a token", "--show-token": "C5.4 prints a token"}
            ),
        ),
        "api": Tool(
            rank=UNKNOWN,
            reason="calls GitHub",
            takes=words("-X --method -f -F -H --input --field --raw-field --header"),
        ),
        "search": _LOOK,
        "status": _LOOK,
        "extension": subcommands("list search", "create upgrade", "install exec remove", why="runs third-party code"),
    },
)

SERVICE_TOOLS: dict[str, Tool] = {
    "docker": _DOCKER,
    "podman": _DOCKER,
    "nerdctl": _DOCKER,
    "docker-compose": _COMPOSE,
    "podman-compose": _COMPOSE,
    "kubectl": _KUBECTL,
    "oc": _KUBECTL,
    "k3s": Tool(rank=UNKNOWN, subs={"kubectl": _KUBECTL}),
    "helm": Tool(
        rank=UNKNOWN,
        reason="changes the cluster",
        subs={
            **subcommands(
                "list ls status history version search show lint env",
                "install upgrade rollback repo pull dependency template create package test",
                "uninstall delete del un push",
                why="removes or publishes",
            ).subs,
            "get": subcommands("notes hooks manifest metadata", "values all"),
        },
    ),
    "terraform": _TERRAFORM,
    "tofu": _TERRAFORM,
    "terragrunt": _TERRAFORM,
    "gh": _GH,
    "glab": _GH,
    "vagrant": subcommands("status global-status version port", "up halt ssh reload", "destroy"),
    "pulumi": subcommands("version whoami preview about", "up refresh", "destroy"),
    "heroku": subcommands("apps ps releases status", "run", "apps:destroy pg:reset"),
    "fourhands": Tool(
        rank=DANGEROUS,
        reason="controls Fourhands itself: an agent must not answer its own question",
        subs={
            **{name: Tool(rank=SAFE, operands="text") for name in ("doctor", "classify", "instructions")},
            "terminal": Tool(
                rank=DANGEROUS, reason="controls Fourhands' terminals", subs={"list": Tool(rank=SAFE, operands="text")}
            ),
        },
    ),
}
# Words anywhere behind these tools that destroy something, whatever the service they name.
CLOUD_DESTROY = {
    "aws": r"delete(-.*)?|terminate(-.*)?|rb|rm|deregister-.*|purge-.*|remove-.*|destroy",
    "gcloud": r"delete|destroy|remove-.*",
    "az": r"delete|purge|deallocate",
    "doctl": r"delete|rm|destroy",
    "gsutil": r"rm|rb",
    "rclone": r"delete|purge|deletefile|rmdir|rmdirs|cleanup",
    "flyctl": r"destroy|delete",
    "fly": r"destroy|delete",
    "eksctl": r"delete|drain",
    "firebase": r".*:delete|.*:disable",
    "wrangler": r"delete|secret",
    "mc": r"rm|rb|mirror",
}
CLOUD_SECRETS = {
    "aws": (
        r"get-secret-value|get-session-token|get-login-password|export-credentials|get-parameters?(-by-path)?|"
        r"assume-role|decrypt|get-.*(token|credentials|password|password-data|secret).*|get-function|history"
    ),
    "gcloud": r"print-access-token|print-identity-token|access",
    "az": r"get-access-token|secret|get-credentials|list-keys|keys|credential",
    "doctl": r"token",
}
DATABASES = words(
    "psql mysql mariadb sqlite3 sqlite redis-cli valkey-cli mongo mongosh cockroach clickhouse-client "
    "clickhouse duckdb sqlcmd pgcli mycli cqlsh influx"
)
DATABASE_TOOLS = words("dropdb dropuser")
SQL = (
    r"\b(?:drop|truncate|delete|flushall|flushdb|dropdatabase|dropuser)\b|"
    r"\.drop\s*\(|deletemany|deleteone|\.remove\s*\("
)
CLIENT_RUNS = (
    r"\\!|\\copy|\.shell|\.system|\\o\s*\|?|\.output|\.once|\.import|system\s|"
    r"load_extension|into\s+(?:out|dump)file|config\s+set|eval\b"
)
# Statements by which a database starts programs, reads and writes files, or lets others in.
SQL_REACHES = (
    r"\bpg_(?:read\w*file|ls_\w+|file_\w+|terminate_backend|cancel_backend|reload_conf)\b|"
    r"\blo_(?:import|export)\b|\bdblink|\balter\s+(?:system|user|role|login)\b|\bcreate\s+(?:user|role|login|extension)\b|"
    r"\blanguage\s+['\"]?(?:c|internal|plpython\w*|plperlu?|pltclu?|plsh)\b|\bdo\s+(?:\$|language)|\bgrant\b|\brevoke\b|"
    r"\bexecute\b|\bset\s+(?:password|global|persist)\b|\bload_file\s*\(|\bload\s+data\b|"
    r"\bxp_\w+|\bsp_(?:configure|oacreate|executesql)|\bopenrowset\b|\bbulk\s+insert\b|\bwritefile\s*\(|\bedit\s*\(|"
    r"\bfts3_tokenizer\b|\bvacuum\s+into\b|\bwritable_schema\b|\binstall\s+\w|(?:^|;)\s*load\s+['\"\w]|\bshutdown\b|"
    r"\breset\s+(?:master|slave)\b|\bpurge\b|\bkill\s+(?:query\s+|connection\s+)?\d"
)
# Words of one statement that are dangerous together: the first, and what may stand anywhere behind it.
SQL_PAIRS = {r"\bcopy\b": r"\bprogram\b|\bto\s+['\"/]", r"\bprepare\b": r"\bfrom\b"}
# Tools whose whole purpose is to hold secrets.
VAULTS = words("pass op bw vault security secret-tool keyctl lpass keepassxc-cli sops age")
