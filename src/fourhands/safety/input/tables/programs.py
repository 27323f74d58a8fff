"""Programs that read what is typed, by their names."""

from fourhands.safety.shell.options import words

PAGERS = words("less more most pager man zless zmore bzmore lesspipe")
EDITORS: dict[str, str] = {
    **dict.fromkeys(words("vi vim nvim vimdiff nvimdiff view rview rvim vim.basic vim.tiny vim.nox elvis"), "vim"),
    **dict.fromkeys(words("nano pico rnano"), "nano"),
    **dict.fromkeys(words("emacs mg jed zile jmacs"), "emacs"),
    **dict.fromkeys(words("micro joe jstar ne tilde mcedit hx helix kak amp"), "other"),
    **dict.fromkeys(words("ed red ex"), "ed"),
}
MONITORS = words("top htop btop atop glances iotop nvtop")
DEBUGGERS: dict[str, str] = {
    **dict.fromkeys(words("gdb gdb-multiarch cgdb lldb rust-gdb rust-lldb"), "gdb"),
    **dict.fromkeys(words("pdb pdb3 ipdb pudb"), "python debugger"),
}
MODULES_THAT_READ = {
    **dict.fromkeys(("code", "asyncio", "ptpython", "bpython"), "python"),
    **dict.fromkeys(("IPython", "ipython", "jupyter_console"), "ipython"),
    **dict.fromkeys(("pdb", "ipdb"), "python debugger"),
}
LANGUAGE_OF: dict[str, str] = {
    **dict.fromkeys(words("python pypy ptpython bpython bpython-curses"), "python"),
    **dict.fromkeys(words("ipython ptipython"), "ipython"),
    **dict.fromkeys(words("node nodejs node-MainThread"), "node"),
    "deno": "deno",
    "bun": "bun",
    **dict.fromkeys(words("irb ruby"), "ruby"),
    "pry": "pry",
    **dict.fromkeys(words("R Rterm radian"), "r"),
    **dict.fromkeys(words("lua luajit"), "lua"),
    "php": "php",
    "perl": "perl",
    **dict.fromkeys(words("ghci ghc"), "haskell"),
    "julia": "julia",
    **dict.fromkeys(words("beam.smp iex erl"), "erlang"),
    **dict.fromkeys(words("jshell scala groovysh kotlinc clj sbcl guile racket octave octave-cli gnuplot"), "other"),
    **dict.fromkeys(words("tclsh wish ocaml utop swift gforth"), "other"),
    "bc": "bc",
    "dc": "dc",
    **dict.fromkeys(words("sqlite sqlite3 litecli"), "sqlite"),
    **dict.fromkeys(words("psql pgcli"), "psql"),
    **dict.fromkeys(words("mysql mariadb mycli"), "mysql"),
    "duckdb": "duckdb",
    **dict.fromkeys(words("redis-cli valkey-cli iredis"), "redis"),
    **dict.fromkeys(words("mongosh mongo"), "mongo"),
    **dict.fromkeys(words("cqlsh clickhouse clickhouse-client clickhouse-clie sqlcmd cockroach influx"), "sql"),
}
