"""git's subcommands and the configuration keys that make it run programs (C7)."""

from fourhands.safety.shell.levels import DANGEROUS, SAFE, UNKNOWN
from fourhands.safety.shell.options import Tool, words

GLOBAL = Tool(
    takes=words("-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source --list-cmds")
)
_DIFF = words(
    "-G -S -O -U --diff-filter --format --pretty --author --since --until --grep -n -L --max-count --skip "
    "--date --stat --word-diff --color -I"
)
RUNS = {
    "--upload-pack": "runs a program",
    "--receive-pack": "runs a program",
    "--exec": "runs a program",
    "--ext-diff": "runs an external program",
    "--textconv": "runs an external program",
    "--filters": "runs an external program",
    "--web": "starts a browser",
}


def _look(**changes: object) -> Tool:
    fields = {"takes": _DIFF, "danger": RUNS, "ask": {"--no-index": "reads other files"}} | changes
    return Tool(rank=SAFE, writes=words("--output"), **fields)  # type: ignore[arg-type]  # fields of Tool


def _ask(reason: str, **changes: object) -> Tool:
    danger = {**RUNS, **changes.pop("danger", {})}  # type: ignore[dict-item]  # a table of reasons
    return Tool(rank=UNKNOWN, reason=reason, danger=danger, **changes)  # type: ignore[arg-type]  # fields of Tool


def _bad(reason: str) -> Tool:
    return Tool(rank=DANGEROUS, reason=reason)


_FORCE = {"-f": "forces", "--force": "forces"}
_MESSAGE = words("-m -F --message --file --author --date -C -c")

GIT: dict[str, Tool] = {
    **dict.fromkeys(
        (
            "diff",
            "show",
            "blame",
            "annotate",
            "cat-file",
            "range-diff",
            "diff-tree",
            "diff-index",
            "diff-files",
            "show-branch",
        ),
        _look(),
    ),
    **dict.fromkeys(
        (
            "status",
            "shortlog",
            "describe",
            "rev-parse",
            "rev-list",
            "ls-files",
            "ls-tree",
            "version",
            "name-rev",
            "merge-base",
            "for-each-ref",
            "show-ref",
            "count-objects",
            "check-ignore",
            "check-attr",
            "var",
            "cherry",
            "whatchanged",
            "log",
            "check-ref-format",
            "verify-commit",
            "verify-tag",
            "rev-list",
        ),
        _look(operands="name"),
    ),
    "config": Tool(takes=words("-f --file --blob --type --default --value --comment")),
    "help": _look(operands="name", danger={"-w": "starts a browser", "--web": "starts a browser"}),
    "grep": _look(
        ask={
            "--no-index": "reads other files",
            "--untracked": "reads files that are not in the repository, secrets too",
            "--no-exclude-standard": "reads ignored files, secrets too",
        },
        skip=1,
        unskip=words("-e -f"),
        takes=words("-A -B -C -m -f --max-depth --threads"),
        texts=words("-e"),
        danger={"-O": "runs a pager", "--open-files-in-pager": "runs a pager", "--ext-grep": "runs grep"},
    ),
    "ls-remote": _ask("connects to another host"),
    "fsck": _ask("checks the repository"),
    "clean": _ask(
        "lists what would be deleted",
        danger={"-f": "deletes untracked files", "--force": "deletes untracked files"},
        takes=words("-e --exclude"),
    ),
    "checkout": _ask(
        "changes the work tree",
        danger={"-f": "discards changes", "--force": "discards changes"},
        takes=words("-b -B --orphan --conflict"),
    ),
    "switch": _ask(
        "changes the work tree",
        danger={
            "-f": "discards changes",
            "--force": "discards changes",
            "--discard-changes": "discards changes",
        },
        takes=words("-c -C --create"),
    ),
    "reset": _ask(
        "changes the index",
        operands="name",
        danger={"--hard": "discards changes", "--merge": "discards changes", "--keep": "may discard changes"},
    ),
    "branch": _ask("changes branches", danger={"-D": "deletes a branch by force"}, takes=words("-u --set-upstream-to")),
    "rm": _ask(
        "removes files from the index and the work tree",
        operands="name",
        danger={"-f": "deletes files", "--force": "deletes files", "-r": "deletes directories"},
    ),
    "mv": _ask("moves files", operands="name"),
    "update-ref": _ask(
        "changes a reference",
        danger={"-d": "deletes a reference", "--delete": "deletes a reference", "--stdin": "changes references"},
    ),
    "gc": _ask("packs the repository", danger={}),
    "prune": _bad("deletes objects"),
    "filter-branch": _bad("rewrites history"),
    "filter-repo": _bad("rewrites history"),
    "push": _ask(
        "publishes commits",
        danger={
            **dict.fromkeys(
                ("-f", "--force", "--force-with-lease", "--force-if-includes", "-d", "--delete", "--mirror", "--prune"),
                "deletes or overwrites what is published",
            )
        },
        takes=words("-o --push-option --repo"),
    ),
    "commit": _ask("makes a commit", texts=_MESSAGE | words("--fixup --squash --trailer"), operands="name"),
    "tag": _ask("changes tags", texts=words("-m -F --message"), takes=words("-u")),
    "rebase": Tool(rank=UNKNOWN, reason="rewrites local commits", texts=words("--onto -X -s -x --exec")),
    "bisect": _ask("changes the work tree"),
    "submodule": _ask("changes submodules"),
    "stash": _ask("changes the stash", texts=words("-m --message")),
    "notes": _ask("changes notes", texts=words("-m")),
    "merge": _ask("merges", texts=words("-m -s -X -F")),
    "instaweb": _bad("starts a web server"),
    "daemon": _bad("starts a server"),
    "send-email": _bad("sends local files"),
    "credential": _bad("prints credentials"),
    "archive": _ask("writes an archive", writes=words("-o --output"), danger={"--exec": "runs a program"}),
    "difftool": _bad("runs a program"),
    "mergetool": _ask("runs a merge tool", danger={}),
    "replace": _ask("changes objects", operands="name"),
}
# Subcommands whose plain forms only list; the words and options that list, and those that destroy.
LISTS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "branch": (
        words(
            "-a -r -v -vv -l --list --all --remotes --verbose --show-current --contains --no-contains "
            "--merged --no-merged --sort --format --points-at --column --color --no-color -i"
        ),
        words(""),
    ),
    "tag": (
        words("-l -n --list --sort --contains --no-contains --merged --no-merged --points-at --format --column"),
        words(""),
    ),
    "stash": (words("list show"), words("drop clear")),
    "remote": (words("show get-url -v --verbose"), words("")),
    "worktree": (words("list"), words("")),
    "reflog": (words("show exists list"), words("expire delete")),
    "notes": (words("list show"), words("remove prune")),
    "submodule": (words(""), words("deinit")),  # runs git in each of them
    "bisect": (words("log"), words("run")),
    "lfs": (words("ls-files env status version track"), words("prune")),
    "bundle": (words("verify list-heads"), words("")),
    "sparse-checkout": (words("list"), words("")),
}
# Keys that name a program, hook or remote helper.
RUNNING_KEY = (
    r"alias\..*|core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy|alternaterefscommand|"
    r"attributesfile|worktree)|sequence\.editor"
    r"|diff\.external|diff\..*\.(?:command|textconv)|.*\.textconv|merge\..*\.driver|mergetool\..*|"
    r"difftool\..*|filter\..*|credential\..*|credential"
    r"|gpg\.(?:.*\.)?program|gpg\..*|pager\..*|interactive\.difffilter|uploadpack\..*|receive\..*|"
    r"remote\..*\.(?:uploadpack|receivepack|proxy|vcs)"
    r"|protocol\..*|include\..*|includeif\..*|url\..*|init\.templatedir|browser\..*|web\.browser|man\..*|"
    r"sendemail\..*|http\.proxy|submodule\..*\.update"
    r"|core\.gitproxy|instaweb\..*|trailer\..*|imap\..*|sendpack\..*|fsmonitor\..*|tar\..*|ssh\.variant|"
    r"help\.browser|guitool\..*|rebase\.instructionformat|format\.pretty"
)
HARMLESS_KEY = (
    r"color\..*|column\..*|log\..*|diff\.(?:color.*|renames|context|algorithm|noprefix|mnemonicprefix|"
    r"wserrorhighlight)|core\.(?:quotepath|abbrev|autocrlf)|advice\..*|status\..*|user\..*"
)
PATCH = words("-p -u --patch -c --cc -U --unified -L -G -S --patch-with-stat --patch-with-raw -m --full-diff")
