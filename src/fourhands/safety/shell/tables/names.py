"""Names the policy lists: shells, wrappers with their options, interpreters, programs that are dangerous as such."""

from fourhands.safety.shell.options import Tool, words

SHELLS = words("sh bash dash zsh ksh ash mksh rbash fish csh tcsh pwsh")
PRIVILEGE = words(
    "sudo sudoedit doas su pkexec runuser run0 gosu su-exec chroot nsenter unshare setpriv capsh machinectl "
    "sg newgrp kdesu gksu"
)
QUERIES = words("type which whatis help whereis apropos hash")
# `--help` and `--version` ask these nothing else; every program with an entry in a table counts as well.
HELPFUL = words(
    "git docker podman kubectl helm terraform npm npx pnpm yarn bun node deno python python3 python2 pip pip3 "
    "pipx uv poetry ruby gem "
    "bundle perl php lua go cargo rustc rustup gcc g++ cc clang make cmake ninja java javac mvn gradle curl "
    "wget ssh scp rsync "
    "tar zip unzip gzip dd rm cp mv ln chmod chown find fd sed awk gawk systemctl journalctl psql mysql "
    "sqlite3 redis-cli gh aws gcloud az "
    "fourhands vim vi nvim nano emacs code tmux screen xargs parallel env timeout nohup nice strace kill "
    "pkill apt apt-get dnf yum "
    "pacman brew mount umount useradd passwd crontab at iptables ffmpeg convert pandoc openssl gpg ruff mypy "
    "pytest tox black eslint tsc jest "
    "vitest prettier bash sh zsh dash fish rustfmt gofmt dotnet swift kotlin scala ghc stack cabal elixir mix "
    "erl julia R Rscript nix "
    "ansible ansible-playbook vagrant packer consul vault nomad shred truncate ip ifconfig"
)

# Wrappers run the rest of their arguments: options that take a value, operands before the command (negative: never).
WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "env": (
        words("-u -C -S --unset --chdir --split-string --argv0 -a --block-signal --default-signal --ignore-signal"),
        0,
    ),
    "command": (words(""), 0),
    "builtin": (words(""), 0),
    "exec": (words("-a"), 0),
    "nohup": (words(""), 0),
    "nice": (words("-n --adjustment"), 0),
    "ionice": (words("-c -n -p -P -u --class --classdata --pid --pgid --uid"), 0),
    "timeout": (words("-k -s --kill-after --signal"), 1),
    "time": (words("-f -o --format --output"), 0),
    "stdbuf": (words("-i -o -e --input --output --error"), 0),
    "setsid": (words(""), 0),
    "xargs": (
        words(
            "-a -d -E -I -i -l -L -n -P -s --arg-file --delimiter --eof --replace --max-lines --max-args "
            "--max-procs --max-chars --process-slot-var"
        ),
        0,
    ),
    "parallel": (
        words(
            "-j -n -N -I -a -S -q -L -s --jobs --max-args --arg-file --sshlogin --joblog --results --colsep "
            "--delay --timeout --retries --tmpdir --wd"
        ),
        0,
    ),
    "watch": (words("-n -q --interval --equexit"), 0),
    "strace": (
        words("-a -b -e -I -o -O -p -P -s -S -u -E -X --output --trace --expr --attach --user --env --string-limit"),
        0,
    ),
    "ltrace": (words("-a -A -D -e -F -l -n -o -p -s -u -w -x -X"), 0),
    "flock": (words("-w -E -c --timeout --wait --conflict-exit-code --command"), 1),
    "taskset": (words(""), 1),
    "chrt": (words("-T -P -D --sched-runtime --sched-period --sched-deadline"), 1),
    "busybox": (words(""), 0),
    "toybox": (words(""), 0),
    "unbuffer": (words(""), 0),
    "rlwrap": (words("-a -b -c -C -D -e -f -g -h -H -l -m -M -O -p -P -q -s -S -t -w -z"), 0),
    "coproc": (words(""), 0),
    "catchsegv": (words(""), 0),
    "ld.so": (words("--library-path --inhibit-rpath --audit --preload --argv0"), 0),
    "setarch": (words(""), 1),
    "linux32": (words(""), 0),
    "linux64": (words(""), 0),
    "choom": (words("-n -p --adjust --pid"), 0),
    "prlimit": (words("-p --pid -o --output"), 0),
    "noglob": (words(""), 0),
    "-": (words(""), 0),
    "repeat": (words(""), 1),
    "sched": (words(""), 1),
    "nocorrect": (words(""), 0),
    "cpulimit": (words("-l -p -e --limit --pid --exe"), 0),
    "softlimit": (words("-a -c -d -f -l -m -o -p -r -s -t"), 0),
    "chronic": (words(""), 0),
    "ts": (words(""), -1),
}
# What a wrapper is when nothing is left for it to run.
ALONE_SAFE = words("xargs command builtin nohup nice time exec setsid coproc noglob")
# Wrapper options that write or run something themselves.
WRAPPER_DANGER: dict[str, dict[str, str]] = {
    "ld.so": {"--preload": "loads a library into the program", "--audit": "loads a library into the program"},
    "rlwrap": {"-z": "runs a filter program"},
    "parallel": {"-S": "runs on other machines", "--sshlogin": "runs on other machines"},
}
# Wrapper options whose value is a file that is written.
WRAPPER_WRITES: dict[str, tuple[str, ...]] = {
    "time": ("-o", "--output"),
    "strace": ("-o", "--output"),
    "ltrace": ("-o", "--output"),
    "rlwrap": ("-l", "-H"),
    "parallel": ("--joblog", "--results"),
}
LOADER = r"ld-linux[\w.-]*\.so[\w.]*|ld-musl[\w.-]*\.so[\w.]*|ld\.so|ld-\d[\w.]*\.so"

INTERPRETERS: dict[str, Tool] = {
    # `texts` are the options whose value is code, `takes` those with another value.
    "python": Tool(texts=words("-c"), takes=words("-W -X -Q --check-hash-based-pycs")),
    "node": Tool(
        texts=words("-e -p -pe --eval --print"), takes=words("-r --require --import --loader -C --conditions")
    ),
    "deno": Tool(texts=words("")),
    "bun": Tool(texts=words("-e --eval -p --print"), takes=words("-r --preload --cwd")),
    "ruby": Tool(texts=words("-e"), takes=words("-r -I -C -E -F")),
    "perl": Tool(texts=words("-e -E"), takes=words("-I -M -m -x -F")),
    "php": Tool(
        texts=words("-r -B -R -E --run --process-begin --process-code --process-end"), takes=words("-d -c -f -z -S -t")
    ),
    "lua": Tool(texts=words("-e"), takes=words("-l")),
    "luajit": Tool(texts=words("-e"), takes=words("-l -j -b")),
    "tclsh": Tool(),
    "wish": Tool(),
    "expect": Tool(texts=words("-c"), takes=words("-f")),
    "R": Tool(texts=words("-e"), takes=words("-f --file")),
    "Rscript": Tool(texts=words("-e")),
    "julia": Tool(texts=words("-e -E --eval --print"), takes=words("-L -p -t")),
    "elixir": Tool(texts=words("-e --eval --rpc-eval"), takes=words("-r -pr -S")),
    "erl": Tool(texts=words("-eval"), single=True),
    "ghc": Tool(texts=words("-e")),
    "ghci": Tool(),
    "osascript": Tool(texts=words("-e")),
    "groovy": Tool(texts=words("-e")),
    "scala": Tool(texts=words("-e")),
    "jshell": Tool(),
    "jrunscript": Tool(texts=words("-e")),
    "octave": Tool(texts=words("--eval")),
    "gnuplot": Tool(texts=words("-e")),
    "irb": Tool(texts=words("")),
    "rake": Tool(texts=words("-e -p")),
    "guile": Tool(texts=words("-c"), takes=words("-l -e")),
    "racket": Tool(texts=words("-e")),
    "sbcl": Tool(texts=words("--eval")),
    "emacsclient": Tool(texts=words("-e --eval")),
    "dc": Tool(texts=words("-e --expression")),
    "jjs": Tool(),
    "rhino": Tool(texts=words("-e")),
    "swift": Tool(texts=words("-e")),
    "pry": Tool(texts=words("-e")),
}

SECRET_PARTS = words("KEY TOKEN SECRET PASSWORD PASSWD PASSPHRASE CREDENTIAL CREDENTIALS")
HARMLESS_PAGERS = words("cat less more true head tail echo most bat")
