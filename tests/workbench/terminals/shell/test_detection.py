"""Which shell a terminal gets, and what is said of the machine."""

import os
import platform as machine
import sys
from pathlib import Path

import pytest

from fourhands.core.errors import Denied, NotFound
from fourhands.workbench.terminals.shell import detection
from fourhands.workbench.terminals.shell.detection import detect_shell, named_shell, platform_information


def test_the_users_shell_is_taken_if_it_is_allowed_and_there() -> None:
    assert detect_shell({"SHELL": "/bin/zsh"}).path == "/bin/zsh"
    assert detect_shell({"SHELL": "/bin/bash"}).arguments == ("--login",)
    assert detect_shell({"SHELL": "zsh"}).name == "zsh"


def test_the_same_shell_in_another_directory_is_still_the_users_choice() -> None:
    assert detect_shell({"SHELL": "/opt/strange/zsh"}).path == "/bin/zsh"


@pytest.mark.parametrize("env", [{}, {"SHELL": ""}, {"SHELL": "/usr/bin/python3"}, {"SHELL": "/no/such/shell"}])
def test_otherwise_the_first_of_the_list_that_exists(env: dict[str, str]) -> None:
    assert detect_shell(env).path == "/bin/bash"


def test_without_any_of_the_list_it_is_sh() -> None:
    shell = detect_shell({"SHELL": "/bin/zsh"}, ["/no/bash", "/no/zsh"])
    assert (shell.path, shell.arguments) == ("/bin/sh", ())


def test_a_shell_that_cannot_be_executed_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "bash").write_text("")
    assert detect_shell({}, [str(tmp_path / "bash"), "/bin/dash"]).path == "/bin/dash"


def test_a_shell_by_name_must_be_allowed_and_there() -> None:
    assert named_shell("dash").path == "/bin/dash"
    with pytest.raises(Denied, match="not allowed"):
        named_shell("/usr/bin/python3")
    with pytest.raises(NotFound):
        named_shell("/no/fish", ["/no/fish", "/bin/sh"])


def test_the_machine_is_described() -> None:
    info = platform_information({"SHELL": "/bin/zsh"})
    assert info.system == machine.system()
    assert (info.default_shell, info.shell_arguments) == ("/bin/zsh", ("--login",))
    assert "/bin/bash" in info.shells
    assert all(os.access(path, os.X_OK) for path in info.shells)


@pytest.mark.parametrize(
    ("version", "env", "wsl"),
    [
        ("Linux version 5.15.90.1-microsoft-standard-WSL2", {}, True),
        ("Linux version 4.4.0-19041-Microsoft (gcc version 5.4.0)", {}, True),
        ("Linux version 6.6.36.6-WSL2+ (me@here)", {}, True),
        ("Linux version 6.1.0-18-amd64 (debian)", {}, False),
        ("Linux version 6.1.0-newslot (dewsl@here) wslx", {}, False),
        ("Linux version 6.1.0", {"WSL_DISTRO_NAME": "Debian"}, True),
        ("Linux version 6.1.0", {"WSL_INTEROP": "/run/WSL/8_interop"}, True),
        ("Linux version 6.1.0", {"WSLENV": ""}, True),
        ("Linux version 6.1.0", {"WSL_DISTRO_NAME": "", "WSLENVIRONMENT": "x"}, False),
        (None, {}, False),
        (None, {"WSLENV": "PATH/l"}, True),
    ],
)
def test_linux_inside_windows_is_recognised(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str | None, env: dict[str, str], wsl: bool
) -> None:
    if version is not None:
        (tmp_path / "version").write_text(version)
    real = open
    monkeypatch.setattr(
        "builtins.open", lambda name, *a, **k: real(tmp_path / "version" if name == "/proc/version" else name, *a, **k)
    )
    monkeypatch.setattr(sys, "platform", "linux")
    assert detection.is_wsl(env) is wsl
    assert platform_information(env).wsl is wsl
    monkeypatch.setattr(sys, "platform", "darwin")
    assert detection.is_wsl(env) is False
