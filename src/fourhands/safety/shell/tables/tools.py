"""Package managers and build tools with subcommands, and routine project tasks (C6.6, C7)."""

from fourhands.safety.shell.levels import SAFE, UNKNOWN
from fourhands.safety.shell.options import Tool, subcommands, words

ROUTINE_TASK = "routine project task: runs the project's own code"

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
    return subcommands(
        look, f"{ask} install add upgrade reinstall", bad, why="removes system packages", takes="-t -o -c"
    )


PACKAGE_TOOLS: dict[str, Tool] = {
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
                    reason=ROUTINE_TASK,
                    operands="text",
                    ask={"--config": "may run a program", "--fix": "changes files"},
                    takes=words("-p -F -j -Z --package --features --target --manifest-path"),
                )
                for name in ("check", "test", "clippy", "build", "c", "t", "b", "tree", "metadata", "pkgid")
            },
            **subcommands(
                "version locate-project read-manifest",
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
                    reason=ROUTINE_TASK,
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
    "rustup": subcommands(
        "show which doc check", "update default target component toolchain override run", "self uninstall"
    ),
    "gem": subcommands(
        "list search info which contents dependency environment outdated help",
        "install update build",
        "uninstall push yank owner",
        why="removes or publishes",
    ),
    "twine": subcommands("check", "register", "upload", why="publishes"),
    "poetry": subcommands(
        "show check env version", "install add remove update lock build run init new", "publish", why="publishes"
    ),
}

ROUTINE = words("test tests lint format fmt check build compile typecheck coverage unit verify")
PROJECT: dict[str, Tool] = {
    name: Tool(rule="C6.6", reason=ROUTINE_TASK, operands="text", **changes)  # type: ignore[arg-type]  # fields of Tool
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
