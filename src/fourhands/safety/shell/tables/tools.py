"""Tools with subcommands: containers, clouds, packages, build tools, databases (C7)."""

from fourhands.safety.shell.levels import DANGEROUS, SAFE, UNKNOWN
from fourhands.safety.shell.options import Tool, ruled, words


def _subs(look: str = "", ask: str = "", bad: str = "", *, why: str = "", takes: str = "", **nested: Tool) -> Tool:
    """Build a tool from three lists of subcommands; a subcommand in none of them is unknown."""
    table: dict[str, Tool] = {}
    for names, rank, reason in (
        (look, SAFE, "only looks"),
        (ask, UNKNOWN, "changes something"),
        (bad, DANGEROUS, why or "destroys"),
    ):
        for name in names.split():
            rule, plain = ruled(reason, "C7")
            table[name] = Tool(
                rank=rank, rule=rule, reason=f"{plain}: {name}", operands="read" if rank else "text", takes=words(takes)
            )
    table.update({name.replace("_", "-").strip("-"): tool for name, tool in nested.items()})
    return Tool(rank=UNKNOWN, reason="not known to be harmless", operands="read", takes=words(takes), subs=table)


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
    danger={"--privileged": "gives the container all privileges", "--device": "gives the container a device"},
)
_LOOK = Tool(rank=SAFE, operands="text", reason="only looks")
_COMPOSE = _subs(
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
_OBJECT = _subs(
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
        **_subs(
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
                **_subs("ls ps list inspect logs top stats port diff", "start stop exec cp", "rm prune").subs,
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
        "system": _subs("df info events", "", "prune", why="deletes"),
        "compose": _COMPOSE,
        "swarm": _subs("", "init join", "leave", why="leaves the cluster"),
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
        **_subs(
            "get describe logs top explain version api-resources api-versions cluster-info diff events",
            "apply create edit patch label annotate scale rollout expose set run exec cp port-forward attach "
            "proxy wait autoscale cordon uncordon taint debug",
            "delete drain replace",
            why="deletes or evicts",
            takes=" ".join(_KUBE),
        ).subs,
        "config": _subs(
            "view current-context get-contexts get-clusters get-users",
            "use-context set set-context",
            "delete-context delete-cluster unset",
        ),
        "auth": _subs("can-i whoami", ""),
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
        **_subs(
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
        "state": _subs("list", "mv show pull", "rm push replace-provider", why="changes the state"),
        "workspace": _subs("list show", "new select", "delete", why="deletes"),
    },
)
_CLOUD_BAD = "deletes in the cloud"
_GH = Tool(
    rank=UNKNOWN,
    reason="changes something at GitHub",
    subs={
        **dict.fromkeys(
            ("issue", "pr"),
            _subs(
                "list view status diff checks",
                "create comment edit close reopen merge checkout review ready",
                "delete",
                why="deletes",
            ),
        ),
        **dict.fromkeys(
            ("repo", "release", "gist", "label", "cache", "ruleset", "project"),
            _subs("list view", "create edit clone fork sync download upload", "delete archive", why="deletes"),
        ),
        "run": _subs("list view watch", "rerun cancel download", "delete"),
        "workflow": _subs("list view", "run enable disable"),
        "secret": _subs("list", "set", "delete remove"),
        "ssh-key": _subs("list", "add", "delete"),
        "variable": _subs("list", "set", "delete"),
        "auth": _subs(
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
        "extension": _subs("list search", "create upgrade", "install exec remove", why="runs code of others"),
    },
)
_SYSTEM_PACKAGES = {
    "apt": (
        "list show search policy depends rdepends",
        "update",
        "remove purge autoremove autopurge clean autoclean full-upgrade dist-upgrade",
    ),
    "dnf": (
        "list info search repolist provides check-update history",
        "makecache",
        "remove erase autoremove clean distro-sync downgrade",
    ),
    "zypper": (
        "search se info if packages pa repos lr list-updates lu",
        "refresh ref",
        "remove rm clean dist-upgrade dup",
    ),
    "brew": (
        "list ls info search outdated deps config doctor leaves uses desc home",
        "update upgrade tap",
        "uninstall remove rm untap cleanup autoremove",
    ),
    "apk": ("info list search policy", "update", "del fix"),
    "snap": ("list info find version", "refresh", "remove disable"),
    "flatpak": ("list info search", "update", "uninstall remove run"),
    "port": ("list info search installed", "selfupdate", "uninstall"),
    "pkg": ("info search list", "update", "delete remove autoremove clean"),
    "dpkg": ("", "", ""),
    "emerge": ("", "", ""),
}


def _packages(name: str) -> Tool:
    look, ask, bad = _SYSTEM_PACKAGES[name]
    return _subs(look, f"{ask} install add upgrade reinstall", bad, why="removes system packages", takes="-t -o -c")


SUBCOMMANDS: dict[str, Tool] = {
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
            **_subs(
                "list ls status history version search show lint env",
                "install upgrade rollback repo pull dependency template create package test",
                "uninstall delete del un push",
                why="removes or publishes",
            ).subs,
            "get": _subs("notes hooks manifest metadata", "values all"),
        },
    ),
    "terraform": _TERRAFORM,
    "tofu": _TERRAFORM,
    "terragrunt": _TERRAFORM,
    "gh": _GH,
    "glab": _GH,
    **{
        name: _packages(name if name in _SYSTEM_PACKAGES else base)
        for name, base in {
            "apt": "apt",
            "apt-get": "apt",
            "aptitude": "apt",
            "apt-cache": "apt",
            "dnf": "dnf",
            "yum": "dnf",
            "microdnf": "dnf",
            "zypper": "zypper",
            "brew": "brew",
            "apk": "apk",
            "snap": "snap",
            "flatpak": "flatpak",
            "port": "port",
            "pkg": "pkg",
        }.items()
    },
    "dpkg": Tool(
        rank=UNKNOWN,
        reason="changes packages",
        danger=dict.fromkeys(("-r", "-P", "--remove", "--purge"), "removes system packages"),
    ),
    "rpm": Tool(
        rank=UNKNOWN,
        reason="changes packages",
        danger={"-e": "removes system packages", "--erase": "removes system packages"},
    ),
    "cargo": Tool(
        rank=UNKNOWN,
        reason="not a routine task",
        rule="C6.6",
        takes=words(
            "-p -F -j -Z --package --features --target --manifest-path --color --config --target-dir "
            "--profile --bin --test --example --message-format"
        ),
        subs={
            **{
                name: Tool(
                    rank=SAFE,
                    rule="C6.6",
                    reason="routine project task",
                    operands="text",
                    ask={"--config": "may run a program", "--fix": "changes files"},
                    takes=words("-p -F -j -Z --package --features --target --manifest-path"),
                )
                for name in ("check", "test", "clippy", "build", "c", "t", "b")
            },
            **_subs(
                "tree metadata search version locate-project read-manifest pkgid",
                "run bench doc add remove update fetch install fmt new init fix vendor clean",
                "publish yank owner",
                why="publishes",
            ).subs,
        },
    ),
    "go": Tool(
        rank=UNKNOWN,
        reason="not a routine task",
        rule="C6.6",
        subs={
            **{
                name: Tool(
                    rank=SAFE,
                    rule="C6.6",
                    reason="routine project task",
                    operands="text",
                    single=True,
                    writes=words(
                        "-o -coverprofile -cpuprofile -memprofile -trace -outputdir -blockprofile -mutexprofile"
                    ),
                    takes=words("-run -bench -tags -timeout -count -p -mod -ldflags -gcflags -covermode -coverpkg"),
                    danger={
                        "-exec": "runs a program",
                        "--exec": "runs a program",
                        "-toolexec": "runs a program",
                        "--toolexec": "runs a program",
                        "-vettool": "runs a program",
                    },
                )
                for name in ("test", "vet", "build", "version", "list", "doc")
            },
            "env": Tool(rank=SAFE, operands="text", ask={"-w": "changes settings", "-u": "changes settings"}),
        },
    ),
    "rustup": _subs("show which doc check", "update default target component toolchain override run", "self uninstall"),
    "gem": _subs(
        "list search info which contents dependency environment outdated help",
        "install update build",
        "uninstall push yank owner",
        why="removes or publishes",
    ),
    "twine": _subs("check", "register", "upload", why="publishes"),
    "poetry": _subs(
        "show check env version", "install add remove update lock build run init new", "publish", why="publishes"
    ),
    "vagrant": _subs("status global-status version port", "up halt ssh reload", "destroy"),
    "pulumi": _subs("version whoami preview about", "up refresh", "destroy"),
    "heroku": _subs("apps ps releases status", "run", "apps:destroy pg:reset"),
    "fourhands": Tool(
        rank=DANGEROUS,
        reason="drives Fourhands itself: an agent must not answer its own question",
        subs={
            **{name: Tool(rank=SAFE, operands="text") for name in ("doctor", "classify", "instructions")},
            "terminal": Tool(
                rank=DANGEROUS, reason="drives Fourhands' terminals", subs={"list": Tool(rank=SAFE, operands="text")}
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
        r"assume-role|get-authorization-token|decrypt"
    ),
    "gcloud": r"print-access-token|print-identity-token|access",
    "az": r"get-access-token|secret|get-credentials|list-keys|keys",
    "doctl": r"token",
}
DATABASES = words(
    "psql mysql mariadb sqlite3 sqlite redis-cli valkey-cli mongo mongosh cockroach clickhouse-client "
    "clickhouse duckdb sqlcmd pgcli mycli cqlsh influx"
)
DATABASE_TOOLS = words("dropdb dropuser")
SQL = (
    r"\b(?:drop|truncate|delete|flushall|flushdb|dropdatabase|dropuser)\b|\balter\b[^;]*\bdrop\b|"
    r"\.drop\s*\(|deletemany|deleteone|\.remove\s*\("
)

ROUTINE = words("test tests lint format fmt check build compile typecheck coverage unit verify")
PROJECT: dict[str, Tool] = {
    name: Tool(rule="C6.6", reason="routine project task", operands="text", **changes)  # type: ignore[arg-type]  # fields of Tool
    for name, changes in {
        "pytest": {
            "ask": {"--basetemp": "empties a directory", "-p": "loads a plugin", "-c": "reads a configuration"},
            "writes": words("--junitxml --junit-xml --log-file"),
        },
        "vitest": {
            "ask": {
                "-u": "changes files",
                "--update": "changes files",
                "--outputFile": "writes a file",
                "--config": "reads a configuration",
                "-c": "reads it",
            }
        },
        "mypy": {
            "ask": {"--install-types": "installs packages", "--config-file": "reads a configuration"},
            "takes": words("-p -m --config-file --cache-dir --python-version"),
            "writes": words(
                "--junit-xml --html-report --txt-report --xml-report --any-exprs-report --cobertura-xml-report"
            ),
        },
        "eslint": {
            "ask": {
                "--fix": "changes files",
                "-c": "runs a configuration",
                "--config": "runs a configuration",
                "--rulesdir": "runs rules",
                "--resolve-plugins-relative-to": "runs plugins",
                "-f": "runs a formatter",
                "--format": "runs a formatter",
                "--parser": "runs a parser",
                "--init": "changes files",
            },
            "writes": words("-o --output-file"),
        },
    }.items()
}
