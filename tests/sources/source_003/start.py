"""How a session starts: which shell with which arguments, in which directory, with which variables."""

import os

from tests.sources.doors import Doors
from tests.sources.source_003 import DOCUMENT
from tests.sources.source_003.service import shell

from fourhands.safety.environment import for_agent, for_person, terminal_variables
from fourhands.workbench.terminals.shell.detection import detect_shell, named_shell


@DOCUMENT.works(
    "class detectShell, shell preferred",
    "detectShell() with SHELL='/bin/bash'",
    "Python: the user's shell, if allowed and there; `terminals.platform()` has it with its arguments.",
)
async def preferred(doors: Doors) -> None:
    machine = doors.app.terminals.platform()
    assert (machine.default_shell, machine.shell_arguments) == ("/bin/bash", ("--login",))
    found = detect_shell({"SHELL": "/bin/sh"})
    assert (found.path, found.arguments) == ("/bin/sh", ())
    assert detect_shell({"SHELL": "/bin/bash"}).path == "/bin/bash"


@DOCUMENT.works("shell basename", "SHELL='/opt/bin/bash'", "Python: the same shell from another directory of the list.")
async def basename(doors: Doors) -> None:
    assert detect_shell({"SHELL": "/opt/elsewhere/bash"}).path == "/bin/bash"


@DOCUMENT.works("shell first", "SHELL unset, or not allowed", "Python: the first of the platform's list that is there.")
async def first(doors: Doors) -> None:
    for env in ({}, {"SHELL": "/usr/bin/python3"}):
        assert detect_shell(env).path == "/bin/bash"
    assert detect_shell({}, ["/nowhere/zsh", "/bin/sh"]).path == "/bin/sh"


@DOCUMENT.works("shell fallback", "{ shell: '/bin/sh', args: [] }", "Python: where none of the list is there.")
async def fallback(doors: Doors) -> None:
    found = detect_shell({}, ["/nowhere/zsh"])
    assert (found.path, found.arguments) == ("/bin/sh", ())


DOCUMENT.not_here("shell win32", "{ shell: 'cmd.exe', args: [] }", because="Linux and macOS; WSL on Windows.")


@DOCUMENT.works("arguments bash", "bash: ['--login']", "Python and in the terminal: a login shell.")
async def bash(doors: Doors) -> None:
    assert named_shell("bash").arguments == ("--login",)
    terminal = await shell(doors, shellPath="bash")
    assert (await terminal.run("shopt -q login_shell && echo login")).output == "login\n"
    await terminal.close()


@DOCUMENT.works("arguments zsh", "zsh: ['--login']", "Python: a login shell; where zsh is there, in the terminal too.")
async def zsh(doors: Doors) -> None:
    path = next((path for path in ("/bin/zsh", "/usr/bin/zsh") if os.path.exists(path)), "")
    if not path:
        assert detect_shell({}, ["/nowhere/zsh"]).path == "/bin/sh"
        return
    assert named_shell("zsh").arguments == ("--login",)
    terminal = await shell(doors, shellPath="zsh")
    assert (await terminal.run("[[ -o login ]] && echo login")).output == "login\n"
    await terminal.close()


@DOCUMENT.works("arguments sh", "sh: []", "Python: none.")
async def sh(doors: Doors) -> None:
    assert named_shell("sh").arguments == ()


async def _windows_shells(doors: Doors) -> None:
    for name in ("powershell", "cmd"):
        refused = await doors.refusal("openspace.terminal.create", {"shellPath": name})
        assert refused["code"] == "denied"
        assert refused["hint"].startswith("allowed are:")


for name in ("powershell", "cmd"):
    DOCUMENT.not_here(
        f"arguments {name}",
        f"{name}: []",
        because="A shell of Windows: the error denied lists the shells that there are.",
        play=_windows_shells,
    )


# -- where -----------------------------------------------------------------------------------------------------------


async def place(doors: Doors, cwd: str | None) -> str:
    """Where a new terminal starts."""
    made = await doors.person("openspace.terminal.create", {} if cwd is None else {"cwd": cwd})
    terminal = doors.app.terminals.get(made["terminalId"])
    try:
        return terminal.started_in
    finally:
        await terminal.close()


@DOCUMENT.differs(
    "cwd none",
    "no cwd → os.homedir()",
    because="The workbench is about a workspace.",
    answer="a terminal in the workspace.",
)
async def no_directory(doors: Doors) -> None:
    assert await place(doors, None) == str(doors.root)


@DOCUMENT.works("cwd trim", "' src '.trim()", "HTTP: blanks around a path do not count.")
async def trimmed(doors: Doors) -> None:
    (doors.root / "src").mkdir(exist_ok=True)
    assert await place(doors, "  src ") == f"{doors.root}/src"


@DOCUMENT.works("cwd double slash", "'//…' → '/…'", "HTTP: several slashes at the beginning are one.")
async def slashes(doors: Doors) -> None:
    assert await place(doors, f"/{doors.root}") == str(doors.root)


@DOCUMENT.works("cwd normalize", "path.resolve(cwd)", "HTTP: made absolute, from the workspace on.")
async def normalized(doors: Doors) -> None:
    (doors.root / "src").mkdir(exist_ok=True)
    assert await place(doors, "./src/../src/.") == f"{doors.root}/src"


@DOCUMENT.works(
    "cwd root", "secureFs.stat(cwd), ALLOWED_ROOT_DIRECTORY", "HTTP: links are followed before it is judged."
)
async def confined(doors: Doors) -> None:
    (doors.root / "way-out").symlink_to("/")
    refused = await doors.refusal("openspace.terminal.create", {"cwd": "way-out/etc"})
    assert refused["code"] == "bad-cwd"
    assert "lies outside" in refused["error"]


BAD = {
    "cwd null byte": ("a\0b", "null byte → home", "NUL"),
    "cwd file": ("notes.txt", "no directory → home", "is not a directory"),
    "cwd missing": ("nowhere", "missing → home", "does not exist"),
}

for id, (cwd, says, words) in BAD.items():

    @DOCUMENT.differs(
        id,
        says,
        because="A command never runs silently somewhere else than it was meant to.",
        answer="the error bad-cwd, which names the directory and what is wrong with it.",
    )
    async def refused(doors: Doors, cwd: str = cwd, words: str = words) -> None:
        doors.write("notes.txt", "")
        answer = await doors.refusal("openspace.terminal.create", {"cwd": cwd})
        assert answer["code"] == "bad-cwd"
        assert words in answer["error"]


async def _wsl_path(doors: Doors) -> None:
    answer = await doors.refusal("openspace.terminal.create", {"cwd": "//wsl$/Debian/home"})
    assert answer["code"] == "bad-cwd"


DOCUMENT.not_here(
    "cwd wsl",
    "'//wsl…' as it is",
    because="A path by which Windows reaches into WSL; inside WSL the path is an ordinary one. The error is bad-cwd.",
    play=_wsl_path,
)


# -- with what -------------------------------------------------------------------------------------------------------


@DOCUMENT.differs(
    "environment excluded",
    "['PORT', 'DATA_DIR', 'AUTOMAKER_API_KEY', 'NODE_PATH']",
    because="These are another server's variables. Ours begin with FOURHANDS_; secrets are taken out by their names.",
    answer="a shell without FOURHANDS_* and *_API_KEY; an agent's has an allow-list, without PORT and NODE_PATH.",
)
async def excluded(doors: Doors) -> None:
    base = {"PORT": "1", "DATA_DIR": "d", "AUTOMAKER_API_KEY": "k", "NODE_PATH": "n", "FOURHANDS_SECRET": "s"}
    assert set(for_person(base)) == {"PORT", "DATA_DIR", "NODE_PATH"}
    assert for_agent(base) == {}


@DOCUMENT.works("environment rest", "...process.env", "Python: a person's shell has all the rest.")
async def rest(doors: Doors) -> None:
    assert for_person({"EDITOR": "vi", "MINE": "1"}) == {"EDITOR": "vi", "MINE": "1"}


@DOCUMENT.works(
    "environment TERM, environment COLORTERM",
    "TERM=xterm-256color COLORTERM=truecolor",
    "HTTP: in every terminal.",
)
async def colours(doors: Doors) -> None:
    terminal = await shell(doors)
    assert (await terminal.run("echo $TERM $COLORTERM")).output == "xterm-256color truecolor\n"
    await terminal.close()


@DOCUMENT.differs(
    "environment TERM_PROGRAM",
    "TERM_PROGRAM: 'automaker-terminal'",
    because="Programs look there for the name of the terminal that they run in.",
    answer="TERM_PROGRAM=fourhands, with TERM_PROGRAM_VERSION.",
)
async def program(doors: Doors) -> None:
    terminal = await shell(doors)
    assert (await terminal.run("echo $TERM_PROGRAM")).output == "fourhands\n"
    await terminal.close()


@DOCUMENT.works(
    "environment LANG, environment LC_ALL",
    "LANG || 'en_US.UTF-8' · LC_ALL || LANG || 'en_US.UTF-8'",
    "Python: the user's; else en_US.UTF-8 if it is installed.",
)
async def language(doors: Doors) -> None:
    found = terminal_variables({"LANG": "de_DE.UTF-8"})
    assert (found["LANG"], found["LC_ALL"]) == ("de_DE.UTF-8", "de_DE.UTF-8")
    found = terminal_variables({"LANG": "de_DE.UTF-8", "LC_ALL": "C.UTF-8"})
    assert (found["LANG"], found["LC_ALL"]) == ("de_DE.UTF-8", "C.UTF-8")


@DOCUMENT.differs(
    "environment LANG",
    "'en_US.UTF-8' where it is not installed",
    because="Shells and perl complain about a locale that is missing.",
    answer="C.UTF-8.",
)
async def missing_locale(doors: Doors) -> None:
    chosen = terminal_variables({})
    there = (await doors.app.terminals.run_script("locale -a")).output.lower()
    assert chosen["LC_ALL"] == ("en_US.UTF-8" if "en_us.utf" in there else "C.UTF-8")
