"""Programs that only read, and the options that change that (C7 readers, C5.2, C6.5)."""

from fourhands.safety.shell.levels import READ_ONLY
from fourhands.safety.shell.options import Tool, words

_NAMES = words(
    "true false : echo printf pwd cd chdir pushd popd dirs basename dirname realpath readlink ls dir vdir "
    "stat test [ [[ du df "
    "tree which type whatis whereis apropos hash whoami id groups users who w uname arch uptime free nproc lscpu lsblk "
    "lsusb lspci lsmod cal seq sleep tty getconf locale mkdir touch pgrep pidof pstree vmstat iostat mpstat "
    "wait jobs set shopt exit return break continue local read mapfile readarray getopts shift umask ulimit logname "
    "ps lsof fuser netstat ss hostname date times disown bg fg help info pathchk tput clear yes factor hostid "
    "numfmt expr mktemp"
)
_FILES = words(
    "cat tac head tail wc nl cut tr paste join comm cmp diff sdiff diff3 fold fmt expand unexpand rev od xxd "
    "hexdump strings "
    "column base64 base32 basenc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum file "
    "look tsort ptx pr zcat bzcat xzcat zless zmore zgrep zdiff zcmp bzgrep xzgrep lzcat zstdcat less more "
    "readelf objdump nm size "
    "ldd jq yq cloc tokei bat batcat eza exa lsd colordiff delta hd hexyl isutf8 iconv uconv shasum md5 otool "
    "ag ack grep egrep fgrep rg sort uniq man tldr"
)
# What those do that do not read.
_DOES = {
    "prints text": "echo printf yes seq",
    "does nothing": "true false :",
    "changes the directory": "cd chdir pushd popd",
    "waits": "sleep wait",
    "changes the shell's settings": "set shopt umask ulimit getopts shift local read mapfile readarray",
    "controls the shell": "exit return break continue disown bg fg",
    "changes the screen": "clear tput",
    "creates a temporary file": "mktemp",
    "computes": "expr factor numfmt test [ [[",
}
_REASONS = {name: reason for reason, names in _DOES.items() for name in names.split()}
READERS: dict[str, Tool] = {name: Tool(operands="name", reason=_REASONS.get(name, READ_ONLY)) for name in _NAMES} | {
    name: Tool() for name in _FILES
}

_SORT = words("-k -t -S -T --key --field-separator --buffer-size --temporary-directory --parallel --batch-size")
_GREP = words(
    "-A -B -C -m -d -D --after-context --before-context --context --max-count --include --exclude --exclude-dir "
    "--label --binary-files --color --colour"
)
_RG = words(
    "-A -B -C -m -g -t -T -E -M -d -j -r --glob --iglob --type --type-not --max-count --max-depth --context "
    "--after-context --before-context --encoding --color --colors --sort --sortr --replace --threads --engine"
)

READERS |= {
    "grep": Tool(
        skip=1,
        unskip=words("-e -f --regexp --file"),
        takes=_GREP | words("-f --file"),
        texts=words("-e --regexp"),
        deep=words("-r -R --recursive --dereference-recursive"),
    ),
    "rg": Tool(
        skip=1,
        unskip=words("-e -f --regexp --file --files --type-list"),
        takes=_RG | words("-f --file"),
        texts=words("-e --regexp"),
        runs=words("--pre --hostname-bin"),
        deep=words(
            "-u -. -L --follow --hidden --unrestricted --no-ignore --no-ignore-vcs --no-ignore-dot --no-ignore-files "
            "--no-ignore-global --no-ignore-parent --no-ignore-exclude"
        ),
        always_deep=True,  # without them it passes over hidden files, so over most secrets
    ),
    "ag": Tool(
        skip=1,
        ask={"--pager": "runs a pager"},
        deep=words("-u -a --hidden --unrestricted --all-types"),
        always_deep=True,
    ),
    "ack": Tool(
        rank=1,
        reason="obeys settings in the workspace: ack",
        rule="C6.6",
        skip=1,
        deep=words("-r -R"),
        always_deep=True,
        ask={"--pager": "runs a pager", "--ackrc": "reads a configuration"},
    ),
    "sort": Tool(
        takes=_SORT,
        writes=words("-o --output"),
        runs=words("--compress-program"),
        ask={"--files0-from": "reads a list of files"},
    ),
    "uniq": Tool(operands="second", takes=words("-f -s -w --skip-fields --skip-chars --check-chars")),
    "head": Tool(takes=words("-n -c --lines --bytes")),
    "tail": Tool(takes=words("-n -c -s --lines --bytes --pid --sleep-interval")),
    "cut": Tool(takes=words("-b -c -f -d --bytes --characters --fields --delimiter --output-delimiter")),
    "tr": Tool(operands="text"),
    "jq": Tool(
        skip=1,
        unskip=words("-f --from-file --slurpfile --rawfile"),
        takes=words("-f --from-file -L --arg --argjson --slurpfile --rawfile --indent --tab"),
        texts=words("--arg --argjson"),
        ask={
            "-f": "runs a jq script from a file",
            "--from-file": "runs a jq script from a file",
            "-L": "loads libraries",
        },
    ),
    "yq": Tool(
        skip=1,
        ask={"-i": "edits the file in place", "--inplace": "edits the file in place", "--in-place": "edits the file"},
    ),
    "diff": Tool(
        takes=words("-I -x -X -U -C -W --label --exclude --unified --context --width"),
        ask={"--to-file": "reads files", "--from-file": "reads files"},
        deep=words("-r --recursive"),
    ),
    "colordiff": Tool(rank=1, reason="obeys a configuration: colordiff", rule="C6.6"),
    "file": Tool(
        takes=words("-m -f -F -P --magic-file --files-from"),
        ask={
            "-C": "writes a magic file",
            "--compile": "writes a magic file",
            "-f": "reads a list of files",
            "--files-from": "reads a list of files",
            "-m": "reads a magic file",
            "--magic-file": "reads a magic file",
        },
    ),
    "xxd": Tool(operands="second", takes=words("-c -g -l -o -s -cols -groupsize -len -seek"), single=False),
    "base64": Tool(takes=words("-w -i --wrap"), writes=words("-o --output")),
    "tree": Tool(
        operands="name",
        takes=words("-L -P -I -H -T --filelimit --charset --timefmt"),
        writes=words("-o"),
        ask={
            "-R": "may write files",
            "--fromfile": "reads a list",
            "--gitfile": "reads a file",
            "--infofile": "reads a file",
        },
    ),
    "date": Tool(
        rule="C5.5",
        operands="text",
        takes=words("-d -r -f --date --reference --file -I -v"),
        danger={"-s": "sets the clock", "--set": "sets the clock"},
    ),
    "hostname": Tool(
        operands="none",
        rule="C5.5",
        danger={"-F": "sets the host name", "--file": "sets the host name", "-b": "sets it"},
    ),
    "less": Tool(
        takes=words("-b -h -j -p -P -t -T -x -y -z -D"),
        texts=words("-p"),
        writes=words("-o -O --log-file --LOG-FILE"),
        ask={"-k": "reads key bindings", "--lesskey-file": "reads key bindings", "--lesskey-src": "reads key bindings"},
    ),
    "more": Tool(takes=words("-n")),
    "man": Tool(
        operands="text",
        takes=words("-M -S -s -L -m -e -E -p -r -R -k -f"),
        runs=words("-P --pager -H --html --browser -B"),
        ask={
            "-C": "reads a configuration",
            "--config-file": "reads a configuration",
            "-l": "shows a local file",
            "--local-file": "shows it",
        },
    ),
    "ps": Tool(operands="text"),
    "pgrep": Tool(operands="text"),
    "ss": Tool(
        operands="text",
        danger={"-K": "closes connections", "--kill": "closes connections"},
        takes=words("-F --filter -D --diag"),
    ),
    "netstat": Tool(operands="text"),
    "lsof": Tool(operands="name"),
    "fuser": Tool(operands="name", danger={"-k": "kills processes", "--kill": "kills processes"}),
    "bat": Tool(
        takes=words("-l -H -r --language --style --theme --line-range"),
        runs=words("--pager"),
        ask={"--config-file": "reads it", "--paging": "opens a pager"},
    ),
    "delta": Tool(runs=words("--pager")),
    "mktemp": Tool(operands="name", reason=_REASONS["mktemp"], takes=words("-p --tmpdir --suffix")),
    "mkdir": Tool(operands="made", takes=words("-m --mode"), rule="C5.2", reason="creates a directory"),
    "touch": Tool(
        operands="made",
        takes=words("-d -t -r --date --reference --time"),
        rule="C5.2",
        reason="creates or marks a file",
    ),
    **dict.fromkeys(
        ("mapfile", "readarray"), Tool(operands="name", reason=_REASONS["read"], takes=words("-d -n -O -s -u -C -c"))
    ),
    "read": Tool(operands="name", reason=_REASONS["read"], takes=words("-a -d -i -n -N -p -t -u")),
    "iconv": Tool(takes=words("-f -t --from-code --to-code"), writes=words("-o --output")),
    "shasum": Tool(takes=words("-a --algorithm")),
    "objdump": Tool(takes=words("-j -M --section")),
    "ldd": Tool(rank=1, reason="ldd may run the program it looks at", rule="C6.1"),
    "stat": Tool(operands="name", takes=words("-c -f --format --printf")),
    "du": Tool(
        operands="name", takes=words("-d --max-depth --exclude -t --threshold -X --exclude-from --files0-from -B")
    ),
    "ls": Tool(operands="name", takes=words("-I -w -T --ignore --hide --color --sort --time")),
    "wc": Tool(takes=words("--files0-from"), ask={"--files0-from": "reads a list of files"}),
    "column": Tool(
        takes=words("-s -o -t -c -N -H -R -E -O -W -T -n -r -p --separator --output-separator --table-columns")
    ),
    "nl": Tool(takes=words("-b -d -f -h -i -l -n -s -v -w")),
    "cmp": Tool(takes=words("-i -n --bytes --ignore-initial")),
    "hexdump": Tool(takes=words("-n -s -e -f")),
    "od": Tool(takes=words("-A -j -N -t -w -S")),
    "strings": Tool(takes=words("-n -t -e -s --bytes --radix --encoding")),
    "ptx": Tool(operands="second"),
    "sdiff": Tool(writes=words("-o --output"), runs=words("--diff-program")),
    "diff3": Tool(runs=words("--diff-program")),
    "tsort": Tool(),
    "info": Tool(
        operands="text",
        writes=words("-o --output"),
        ask={"-f": "reads a file", "--file": "reads a file", "--init-file": "reads it"},
    ),
    "help": Tool(operands="name"),
    "cloc": Tool(
        ask={"--config": "reads a configuration", "--extract-with": "runs a program"},
        writes=words("--out --report-file"),
    ),
    "pr": Tool(takes=words("-h -l -o -w")),
    "fold": Tool(takes=words("-w --width")),
    "which": Tool(operands="name"),
    "pidof": Tool(operands="text"),
}
for _name in ("egrep", "fgrep", "zgrep", "bzgrep", "xzgrep"):
    READERS[_name] = READERS["grep"]
READERS["batcat"] = READERS["bat"]
READERS["[["] = READERS["["] = READERS["test"]


def reads_content(name: str) -> bool:
    """Return True if a program prints what it reads from the files that it is given."""
    return name in ("sed", "awk", "gawk") or (name in READERS and READERS[name].operands in ("read", "second"))
