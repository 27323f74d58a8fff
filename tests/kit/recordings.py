# ruff: noqa: E501 - tables of what is printed
"""Recordings of real programs, for tests of what is shown: `python -m tests.kit.recordings [NAME…]` takes them anew.

Each is what a program printed into a terminal of a size, in an empty home, on a machine without a name, with some keys
typed. The programs need not be there to use the recordings, and versions do not matter: whatever they print must work.
"""

import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parents[1] / "golden" / "recordings"

QUIET_S = 0.4
LONGEST = 24_000  # bytes of a recording; what comes then is cut off, anywhere


@dataclass(frozen=True, slots=True)
class Recording:
    """Output, and the size of the terminal that it was made for."""

    name: str
    data: bytes
    cols: int = 80
    rows: int = 24


def recordings() -> Iterator[Recording]:
    """All that are stored."""
    for path in sorted(HERE.glob("*.vt")):
        name, size = path.stem.rsplit(".", 1)
        cols, rows = size.split("x")
        yield Recording(name, path.read_bytes(), int(cols), int(rows))


# name, size, what a shell runs, keys one after the other (each when the program has been quiet)
PROGRAMS: list[tuple[str, str, str, tuple[str, ...]]] = [
    (
        "vim",
        "80x24",
        "vim -Nu NONE -i NONE -n file.py",
        ("\x06", "Oinserted\x1b", ":syntax on\r", "/def\r", "dd", "u", ":q!\r"),
    ),
    (
        "vim_split",
        "100x30",
        "vim -Nu NONE -i NONE -n file.py",
        (":vsplit\r", ":split\r", ":set number\r", "\x17l", "G", "\x05"),
    ),
    (
        "vim_insert",
        "60x15",
        "vim -Nu NONE -i NONE -n new",
        ("ihello\rworld\r\r\twide 漢字 é 👍\x1b", ":set list\r", "gg", "xxxx"),
    ),
    ("vim_long", "40x12", "vim -Nu NONE -i NONE -n long", ("$", "j", ":set nowrap\r", "20l", ":set wrap\r")),
    ("less", "80x24", "less file.py", (" ", "b", "/return\r", "n", "G", "g", "q")),
    ("less_raw", "80x24", "git --no-pager log --color --graph --stat | less -R", (" ", "j", "j", "k", "G")),
    ("less_wide", "50x10", "less -N wide", (" ", "j", "\x1b[B", "q")),
    ("htop", "100x24", "htop -d 100", ("\x1b[B", "t", "\x1bOQ", "\x1b", "q")),
    ("top", "80x24", "top -d 100", ("1", "z", "q")),
    (
        "tmux",
        "80x24",
        "tmux -f /dev/null -L x new-session 'sh'",
        ("echo one\r", "\x02%", "ls --color\r", '\x02"', "seq 30\r", "\x02\x1b[D", "exit\r"),
    ),
    (
        "tmux_copy",
        "60x20",
        "tmux -f /dev/null -L y new-session 'sh'",
        ("seq 60\r", "\x02[", "\x1b[A\x1b[A\x1b[A", "\x1b[5~", "q", "exit\r"),
    ),
    ("screen", "80x24", "screen -c /dev/null sh", ("", "echo hello\r", "seq 40\r", "\x01S", "\x01\t", "\x01c", "ls\r")),
    ("nano", "80x24", "nano file.py", ("\x1b[B\x1b[B", "new text", "\x0b", "\x15", "\x18", "n")),
    ("mc", "80x24", "mc -u", ("\x1b[B\x1b[B", "\t", "\x1bOP", "\x1b\x1b", "\x1b[21~", "\r")),
    ("mc_view", "90x28", "mcview file.py", (" ", "\x1b[B", "\x1b[14~", "q")),
    ("mcedit", "80x24", "mcedit file.py", ("abc\r", "\x1b[B\x1b[B", "\x1b[20~", "\x1b\x1b")),
    ("dialog_menu", "80x24", "dialog --menu choose 15 50 5 a one b two c three", ("\x1b[B", "\x1b[B", "\r")),
    ("dialog_gauge", "60x16", "for i in 5 20 40 60 80 99; do echo $i; done | dialog --gauge working 8 40", ()),
    (
        "dialog_form",
        "80x24",
        "dialog --form hello 15 60 4 Name: 1 1 '' 1 10 20 0 City: 2 1 '' 2 10 20 0",
        ("Ada", "\x1b[B", "London", "\t", "\r"),
    ),
    (
        "whiptail",
        "80x24",
        "whiptail --checklist pick 15 50 5 a one on b two off c three off",
        (" ", "\x1b[B", " ", "\t", "\r"),
    ),
    ("emacs", "80x24", "emacs -nw -Q file.py", ("\x0e\x0e", "\x1bx", "calendar\r", "\x18o", "\x18\x03")),
    ("tig", "90x26", "tig", ("j", "j", "\r", "j", "q", "q")),
    ("ncdu", "80x24", "ncdu .", ("j", "j", "i", "q", "q")),
    ("w3m", "80x24", "w3m page.html", ("\t", "\t", " ", "q", "y")),
    ("lynx", "80x24", "lynx -nopause page.html", ("\x1b[B", " ", "q", "y")),
    ("fzf", "80x24", "ls | fzf --height 10", ("f", "i", "\x1b[A", "\x7f", "\r")),
    ("fzf_full", "80x24", "seq 200 | fzf --preview 'echo {}' --multi", ("1", "\t", "\t", "2", "\x03")),
    ("cmatrix", "60x20", "timeout 0.6 cmatrix -u 9", ()),
    ("watch", "80x24", "timeout 2 watch -n 0.3 --color 'ls --color=always; seq 3'", ()),
    ("git_log", "80x24", "git --no-pager log --color --oneline --graph --decorate --stat", ()),
    ("git_diff", "80x24", "git --no-pager diff --color HEAD~1", ()),
    ("git_words", "60x24", "git --no-pager diff --color --word-diff HEAD~2", ()),
    ("git_status", "80x24", "touch new; git -c color.ui=always status", ()),
    ("ls", "80x24", "ls -la --color=always / /bin | head -120", ()),
    ("ls_links", "80x24", "ls --hyperlink=always --color=always", ()),
    ("grep", "80x24", "grep --color=always -rn e . | head -60", ()),
    ("bat", "80x24", "batcat --paging=never --color=always --theme=ansi file.py", ()),
    ("bat_full", "100x30", "batcat --paging=never --color=always file.py", ()),
    ("jq", "80x24", 'echo \'{"a": [1, 2.5, "x", null], "b": {"c": true}}\' | jq -C .', ()),
    ("figlet", "80x24", "figlet Four Hands", ()),
    (
        "python",
        "80x24",
        "python3 -q",
        ("1+1\r", "print('x' * 200)\r", "for i in range(3):\r    print(i)\r\r", "1/0\r", "\x1b[A\x1b[A\r", "exit()\r"),
    ),
    (
        "python_edit",
        "40x10",
        "python3 -q",
        ("'a long line that is folded at the margin of the screen'", "\x01\x1b[C\x1b[C", "X", "\x05", "\x17", "\r"),
    ),
    (
        "bash",
        "80x24",
        "bash --norc",
        ("echo hello\r", "ls --color\r", "ech\t\t", "\x15", "\x12ec", "\r", "printf '%s\\n' a b c\r", "exit\r"),
    ),
    (
        "bash_fold",
        "30x8",
        "bash --norc",
        (
            "echo a line that is longer than the screen is wide, twice over\x01\x1bf",
            "new words ",
            "\x05",
            "\r",
            "\x1b[A\x7f\x7f\x7f",
            "\r",
        ),
    ),
    (
        "bash_menu",
        "80x24",
        "bash --norc",
        (
            "bind 'set show-all-if-ambiguous on'\r",
            "ls /usr/l\t",
            "\x15",
            "complete -W 'one two three' x; x \t\t",
            "\x03",
        ),
    ),
    (
        "bash_colours",
        "80x24",
        "PS1='\\[\\e[1;32m\\]\\u@\\h\\[\\e[0m\\]:\\[\\e[34m\\]\\w\\[\\e[0m\\]\\$ ' bash --norc",
        ("export PS1\r", "cd /tmp\r", "false\r", "clear\r", "seq 40\r"),
    ),
    (
        "zsh",
        "80x24",
        "zsh -f",
        (
            "echo hi\r",
            "ls /usr/\t\t",
            "\t",
            "\x03",
            "PROMPT='%F{red}%n%f %~ %# '; RPROMPT='%T'\r",
            "echo 1\r",
            "\x1b[A",
            "\x15",
        ),
    ),
    (
        "zsh_fold",
        "36x10",
        "zsh -f",
        (
            "echo this line is long and folded by the line editor of zsh",
            "\x01",
            "\x1b[C\x1b[C",
            "x",
            "\x0b",
            "\x15",
            "seq 20\r",
        ),
    ),
    (
        "zsh_complete",
        "70x20",
        "zsh -f",
        (
            "autoload -U compinit; compinit -u\r",
            "zstyle ':completion:*' menu select\r",
            "ls --\t",
            "\t\t",
            "\x1b[B",
            "\x03",
        ),
    ),
    (
        "fish",
        "80x24",
        "fish --no-config",
        ("echo hello\r", "ls --\t", "\x1b[B", "\x1b", "\x03", "seq 30\r", "ech", "\x1b[C", "\r", "exit\r"),
    ),
    (
        "fish_fold",
        "40x12",
        "fish --no-config",
        (
            "echo a long line that is folded by fish in a narrow terminal",
            "\x01",
            "x",
            "\x05",
            "\x15",
            "set_color red; echo red\r",
        ),
    ),
    ("dash", "80x24", "dash", ("echo hi\r", "ls\r", "\x03", "exit\r")),
    ("progress", "60x10", "python3 bars.py", ()),
    ("progress_colour", "80x24", "python3 colours.py", ()),
    ("pip", "80x24", "python3 -m pip --disable-pip-version-check list 2>&1 | head -40", ()),
    ("unicode", "60x20", "cat wide", ()),
    ("unicode_narrow", "17x12", "cat wide", ()),
    ("boxes", "72x20", "python3 boxes.py", ()),
    ("curses", "80x24", "python3 screens.py", ("a", "b", "c", "q")),
    ("curses_scroll", "50x14", "python3 scroller.py", ("x",)),
    ("clear", "80x24", "ls; clear; echo after; tput cup 5 10; tput smacs; echo lqqqk; tput rmacs; tput sgr0", ()),
    (
        "tput",
        "80x24",
        "tput smcup; tput cup 3 3; tput bold; echo bold; tput sc; tput cup 10 0; echo low; tput rc; echo back; tput rmcup; echo done",
        (),
    ),
    ("apt", "80x24", "python3 region.py", ()),
    ("reset", "80x24", "seq 30; tput reset; tput init; echo again", ()),
    ("stty", "80x24", "stty -a; printf 'a\\tb\\tc\\n'; tabs 4; printf 'a\\tb\\tc\\n'", ()),
    ("random_text", "80x24", "head -c 3000 /dev/urandom | base64 -w 0", ()),
]

FILES = {
    "file.py": "".join(
        f'def function_{n}(value: int) -> str:\n    """Number {n}."""\n    return "x" * value  # {n}\n\n'
        for n in range(30)
    ),
    "long": "\n".join("word " * 40 for _ in range(10)),
    "wide": "漢字かな交じり文 한글 ｆｕｌｌ\né e\u0301 n\u0303 a\u0308\u0323 \u0301alone\n👍 👍🏽 👩‍👩‍👧 🇩🇪 ❤️ ☺ 🫠 🥲\nעברית العربية हिन्दी ไทย\n"
    + "".join(f"{'漢' * n}|{'x' * n}\n" for n in range(1, 12))
    + "ﬁ ﷺ ⣿⡇ ░▒▓█ ┌─┬─┐ ‖ ½ ™ … \u200b\u00ad|\n",
    "page.html": "<h1>Title</h1><p>Some <b>bold</b> and <a href='a'>a link</a></p><table border=1><tr><td>a<td>b</table>"
    + "<p>text " * 60,
    "bars.py": """
import sys, time
for n in range(0, 101, 4):
    print(f"\\r\\x1b[K{n:3}% [{'#' * (n // 4)}{'.' * (25 - n // 4)}] \\x1b[32m{n}/100\\x1b[0m", end="", flush=True)
print()
for row in range(3): print(f"worker {row}")
for n in range(12):
    print(f"\\x1b[3A", end="")
    for row in range(3): print(f"\\x1b[2K\\rworker {row}: {'=' * (n * (row + 1))}>")
print("\\x1b[?25l⠋ spinning\\x1b[1G⠙\\x1b[1G⠹\\x1b[?25h done")
""",
    "colours.py": """
for n in range(256): print(f"\\x1b[48;5;{n}m {n:3}\\x1b[0m", end="\\n" if n % 16 == 15 else "")
for n in range(0, 256, 5): print(f"\\x1b[38;2;{n};{255 - n};128m█", end="")
print("\\x1b[0m")
for n in (1, 2, 3, 4, 5, 7, 9, 21, 53): print(f"\\x1b[{n}mstyle {n}\\x1b[0m", end=" ")
for n in range(1, 6): print(f"\\x1b[4:{n};58:5:{n}mline {n}\\x1b[0m", end=" ")
print("\\x1b[44mto the end\\x1b[K\\x1b[0m")
""",
    "boxes.py": """
print("┌" + "─" * 70 + "┐")
for n in range(25): print("│" + f" row {n} ".center(70, "·") + "│")
print("└" + "─" * 70 + "┘", end="")
""",
    "screens.py": """
import curses
def main(screen):
    curses.start_color(); curses.use_default_colors()
    for n in range(1, 8): curses.init_pair(n, n, -1)
    window = curses.newwin(10, 40, 5, 20)
    while (key := screen.getch()) != ord("q"):
        window.erase(); window.box(); window.addstr(2, 2, f"key {key}", curses.color_pair(key % 7 + 1) | curses.A_BOLD)
        for n in range(6): window.addch(4, 2 + n * 3, curses.ACS_DIAMOND); window.addch(5, 2 + n, curses.ACS_HLINE)
        window.insertln(); window.move(3, 0); window.deleteln()
        screen.addstr(20, 0, "status", curses.A_REVERSE); screen.refresh(); window.refresh()
curses.wrapper(main)
""",
    "scroller.py": """
import curses
def main(screen):
    screen.scrollok(True); screen.setscrreg(2, 10); screen.idlok(True)
    for n in range(40): screen.addstr(10, 0, f"line {n}\\n"); screen.refresh()
    screen.scroll(-3); screen.refresh(); screen.getch()
curses.wrapper(main)
""",
    "region.py": """
print("\\n\\x1b7\\x1b[0;23r\\x1b8\\x1b[1A", end="")
for n in range(40):
    print(f"Unpacking package {n} ...")
    print(f"\\x1b7\\x1b[24;0f\\x1b[42m\\x1b[30mProgress: [{n * 100 // 40:3}%]\\x1b[49m\\x1b[39m [{'#' * n}{'.' * (40 - n)}] \\x1b8", end="")
print("\\n\\x1b7\\x1b[0;24r\\x1b8\\x1b[1A\\x1b[Jdone")
""",
}


def _prepare(home: Path) -> None:
    for name, text in FILES.items():
        (home / name).write_text(text)
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "-q"], cwd=home, check=True)
    for n in range(6):
        (home / "file.py").write_text(FILES["file.py"].replace(f"function_{n}", f"renamed_{n}"))
        (home / f"file{n}").write_text(f"{n}\n" * (n + 1))
        subprocess.run([*git, "add", "."], cwd=home, check=True)
        dated = {**os.environ, "GIT_AUTHOR_DATE": "@1700000000 +0000", "GIT_COMMITTER_DATE": "@1700000000 +0000"}
        subprocess.run([*git, "commit", "-qm", f"change {n}"], cwd=home, check=True, env=dated)


def record(script: str, keys: tuple[str, ...], cols: int, rows: int) -> bytes:
    """What a script prints, in processes of its own that see no others."""
    home = Path(tempfile.mkdtemp(prefix="rec-", dir="/tmp"))
    try:
        _prepare(home)
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (rows, cols))
        env = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/games", "TERM": "xterm-256color"}
        env |= {"LC_ALL": "C.UTF-8", "USER": "ada", "LOGNAME": "ada", "TZ": "UTC", "MC_SKIN": "default", "PS1": "$ "}
        inside = f"hostname desk; cd {home} && exec /bin/bash -c '{script.replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}'"
        child = subprocess.Popen(
            ["setsid", "--ctty", "--wait", "unshare", "--pid", "--fork", "--mount-proc", "--uts", "--kill-child", "sh", "-c", inside],
            stdin=slave, stdout=slave, stderr=slave, env=env,
        )  # fmt: skip
        os.close(slave)
        data, waiting = b"", list(keys)
        end = time.monotonic() + 30
        while time.monotonic() < end and len(data) < LONGEST:
            if select.select([master], [], [], QUIET_S if data else 5)[0]:
                try:
                    data += os.read(master, 65536)
                except OSError:
                    break
            elif waiting:
                os.write(master, waiting.pop(0).encode())
            elif child.poll() is not None or keys:
                break
        child.kill()
        child.wait()
        os.close(master)
        return data[:LONGEST].replace(str(home).encode(), b"/home/ada")
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for name, size, script, keys in PROGRAMS:
        if not sys.argv[1:] or name in sys.argv[1:]:
            cols, rows = map(int, size.split("x"))
            taken = record(script, keys, cols, rows)
            (HERE / f"{name}.{size}.vt").write_bytes(taken)
            print(f"{name}: {len(taken)} bytes")
