"""Languages of programs that read code and statements: prompts, quotes, and calls that are dangerous in them.

Python is judged by its own grammar, in `python.py`; `calls` of it is for text that does not fit that grammar.
"""

import re
from dataclasses import dataclass

from fourhands.safety.shell.programs.interpreters import RISKY_CALLS

# What may end a program, or let another one read the next line: an exit, a pager, a debugger, a question.
ENDS = re.compile(
    r"\b(?:exit|quit|halt|bye|logout|abort|leave|throw|die|SystemExit|_exit|reallyExit|kill|exec[vl]?[pe]*|help|input|"
    r"breakpoint|set_trace|interact|embed|pydoc|getpass|readline|gets|prompt|suspend|stop|edit|ed|pager|less|man|"
    r"detach|shutdown)\b|^\s*[\\.:]?(?:q|qu|qui|x|e|ex|exi|st|sus)\s*;?\s*$|\\[eq]\b|\x04",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Language:
    """One language as its program reads it; all expressions are for one line unless they say otherwise."""

    label: str  # for a person: Python
    tool: str = ""  # its entry in the table of interpreters
    ready: str = ""  # the prompt for a new statement
    more: str = ""  # and for the rest of one
    promptless: bool = False  # it shows none, and reads whatever comes
    statements: bool = False  # a database's client
    always: bool = False  # it reads lines, whatever it was started with
    modules: bool = False  # `-m` starts a module in place of it
    debugs: str = ""  # the words that make a debugger of it
    starts: str = ""  # the words without which it reads a script
    calls: re.Pattern[str] | None = None  # dangerous, wherever it stands outside of quotes
    imports: re.Pattern[str] | None = None  # dangerous, with the texts between quotes
    plain: re.Pattern[str] | None = None  # not dangerous, although a part of it would be
    quotes: str = ""  # characters around text that is no code
    unclear: str = ""  # characters with which it is not certain where such a text ends
    looks: re.Pattern[str] | None = None  # whole lines that only look, or end it


def _calls(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)


def _cased(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts))


_NODE_MODULES = r"child_process|fs|net|https?|http2|dgram|tls|vm|worker_threads|cluster|repl|inspector|module|v8"
_SCRIPT = _cased(
    r"\b(?:exec|execFile|spawn|fork)(?:Sync)?\s*\(|\beval\b|\bFunction\s*\(|\bconstructor\b|\bglobalThis\s*\[|\bReflect\b",
    r"\bprocess\s*(?:\[|\.\s*(?:binding|_\w+|kill|mainModule|dlopen|chdir|set\w+|abort|emit))|\\u[0-9a-fA-F{]",
    rf"(?<![\w$.\"'])(?!fs\s*\.\s*(?:read|exists|l?stat|access|realpath|constants))(?:{_NODE_MODULES})\s*(?:[.\[(]|\?\.)",
    r"(?:=|[,(]|=>)\s*(?:child_process|fs|net|vm|process)\s*(?:$|[;,)}])",
    r"(?:require|import)\s*\(\s*(?!['\"`][\w./@:-]*['\"`]\s*\))",
    r"\bfetch\s*\(|\bXMLHttpRequest\b|\bWebSocket\s*\(|\b(?:unlink|rm|rmdir|writeFile|appendFile|chmod|truncate)(?:Sync)?\s*\(",
    r"\bDeno\s*\.\s*(?:run|Command|remove|write\w*|open|create|mkdir|make\w+|rename|copy\w*|chmod|chown|kill|exit|"
    r"connect\w*|listen\w*|dlopen|symlink|link|truncate|env|\[)|\bDeno\s*\[|\bBun\s*(?:\[|\.\s*(?:spawn\w*|write|\$|"
    r"serve|connect|listen|file|dlopen|udpSocket))|(?<![\w.])\$`",
    r"^\s*\.(?:load|save)\b",
)
# Modules that a text between quotes names.
_NODE_IMPORTS = _cased(
    rf"(?:require\s*\(|import\s*\(|\bfrom\b|\bimport\b)\s*['\"`](?:node:|bun:)?(?:{_NODE_MODULES}|ffi|shell)(?:/\w+)?['\"`]"
)
_RUBY = _cased(
    r"\b(?:system|exec|spawn|fork|eval|instance_eval|class_eval|module_eval|instance_exec|syscall|trap|load|send|__send__|"
    r"public_send|const_get|method|define_method|binding|ObjectSpace|Marshal|Fiddle|DL|Win32API|TOPLEVEL_BINDING)\b",
    r"`|%x|\bKernel\b|\bFileUtils\b|\bFile\s*(?:\.|::)\s*(?:delete|unlink|write|rename|chmod|chown|open|new|symlink|link|"
    r"truncate|binwrite)|\bIO\s*(?:\.|::)\s*\w|\bDir\s*(?:\.|::)\s*(?:rmdir|delete|unlink|mkdir|chdir)|\bProcess\b|"
    r"\bOpen3\b|\bPTY\b|\bNet\s*::|\b(?:TCP|UDP|UNIX)\w*Socket\b|\bSocket\b|\bOpenURI\b|\bURI\s*\.\s*open|"
    r"\.\s*(?:unlink|delete|rmtree|rm_rf|rmdir|write|binwrite|popen)\b(?!_)|\bopen\s*\(?\s*[\"'|]|\bENV\s*\[[^\]]*\]\s*=",
)
_PRY = _cased(_RUBY.pattern, r"^\s*(?:\.|shell-|edit|play|!|gem-|gist|save-file|reload|cat\b.*>)")
_PERL = _cased(
    r"\b(?:system|exec|qx|eval|unlink|rmdir|rename|fork|kill|chmod|chown|symlink|link|truncate|syscall|socket|connect|"
    r"require|do|use|dump|umask|utime|chdir|chroot|sysopen|dbmopen)\b|`|\bopen\b|IO::|LWP|Socket|File::|Net::|POSIX::|"
    r"\bsprintf\s*\(?\s*[\"']\\x|<[^<>]*\|",
    r"^\s*[|!]|^\s*(?:R|rerun|source|w\s|man|doc)\b|/e[a-z]*\s*;?\s*$",
)
_PHP = _cased(
    r"(?i:\b(?:system|exec|shell_exec|passthru|popen|proc_open|pcntl_\w+|eval|assert|create_function|unlink|rmdir|rename|"
    r"copy|chmod|chown|symlink|link|touch|mkdir|tempnam|file_put_contents|fwrite|fputs|ftruncate|move_uploaded_file|mail|"
    r"fsockopen|pfsockopen|stream_socket_\w+|socket_\w+|curl_\w+|ftp_\w+|base64_decode|unserialize|include(?:_once)?|"
    r"require(?:_once)?|dl|putenv|ini_set|call_user_func\w*|array_map|usort|preg_replace_callback|extract|"
    r"posix_\w+|FFI|ReflectionFunction|COM)\b)|`|\$\w+\s*\(|\$\{|\$\$|\bfopen\s*\((?![^,]*,\s*['\"]rb?['\"])",
)
_LUA = _cased(
    r"\bos\s*(?:\[|\.\s*(?:execute|remove|rename|exit|tmpname|setlocale)|\s*[,)=]|\s*$)|\bio\s*(?:\[|\.\s*(?:popen|open|"
    r"output|lines|tmpfile))|\b(?:load|loadstring|loadfile|dofile|require|setfenv|debug|package|ffi|_G|_ENV|getfenv)\b",
    r"=\s*(?:os|io)\b(?!\s*\.)|\.\s*(?:execute|popen)\b",
)
_R = _cased(
    r"\b(?:system2?|shell(?:\.exec)?|pipe|unlink|file\.(?:remove|rename|copy|create|append|symlink|link)|eval|evalq|parse|"
    r"source|sys\.source|install\.packages|remove\.packages|update\.packages|download\.file|url|socketConnection|"
    r"writeLines|write|write\.\w+|saveRDS|save|save\.image|sink|dump|dput|cat\s*\([^)]*file|dyn\.load|library\.dynam|"
    r"Sys\.(?:setenv|chmod|unsetenv|kill)|setwd|do\.call|match\.fun|get|getFromNamespace|\.Call|\.External|\.C|"
    r"fs::|httr::|processx::|readRDS|load|unserialize|pskill|mcparallel|fork)\s*\(|:::",
)
_HASKELL = _cased(
    r"^\s*:(?:!|def|cmd|script|edit|e\b|set\s+(?:-|editor|prompt-function)|load|l\b|add|main|run|steplocal)",
    r"\b(?:system|rawSystem|callCommand|callProcess|readProcess\w*|readCreateProcess\w*|spawn\w*|createProcess|shell|proc|"
    r"removeFile|removeDirectory\w*|removePathForcibly|renameFile|renameDirectory|renamePath|writeFile|appendFile|"
    r"withFile|openFile|unsafe\w+|setEnv|forkProcess|executeFile|connect)\b|\bSystem\.(?:Process|Directory|Posix)\b|"
    r"\bNetwork\b|\bForeign\b",
)
_JULIA = _cased(
    r"^\s*[;\]]|`|\b(?:run|rm|mv|cp|download|write|eval|include|include_string|ccall|open|touch|mkdir|mkpath|chmod|chown|"
    r"symlink|connect|listen|kill|pipeline|detach|redirect_stdout|cd|invokelatest|unsafe_\w+|getfield|getproperty)\s*\(|"
    r"@(?:eval|ccall|cmd|spawn)|\bENV\s*\[[^\]]*\]\s*=|\bPkg\b|\bSockets\b|\bLibdl\b|\bMeta\b|\bBase\s*\.\s*(?:run|eval)",
)
_ERLANG = _cased(
    r"\b(?:os|file|filelib|gen_tcp|gen_udp|httpc|ssl|inets|rpc|erl_eval|code|init|heart|prim_file)\s*:|:(?:os|file|gen_tcp|"
    r"httpc|code|init|rpc|erlang)\b|\bSystem\s*\.\s*(?:cmd|shell|halt|stop|put_env|delete_env)|\bFile\s*\.\s*(?:rm\w*|"
    r"write\w*|cp\w*|rename|open|mkdir\w*|chmod|touch|ln_s|stream)|\bCode\s*\.|\bPort\s*\.|open_port|\bapply\s*\(|"
    r"\bKernel\s*\.\s*apply|\bNode\s*\.|\bHTTPoison|\bReq\s*\.|\bMix\b",
)

LANGUAGES: dict[str, Language] = {
    "python": Language("Python", "python", r">>>", r"\.\.\.", modules=True, calls=RISKY_CALLS),
    "ipython": Language("Python", "python", r"In \[\d+\]:", r"\s*\.\.\.:", modules=True, calls=RISKY_CALLS),
    "node": Language(
        "JavaScript",
        "node",
        r">",
        r"(?:\.{3})+|\|",
        debugs=r"inspect|debug",
        calls=_SCRIPT,
        imports=_NODE_IMPORTS,
        quotes="\"'`",
        unclear="/",
        plain=_cased(
            r"(?:\)|\b\w{0,40}(?:re|rx|regexp?|pattern|RE|Re|Regex|RegExp|Pattern)|/\w{0,8})\s{0,4}\.\s{0,4}exec\s{0,4}\("
        ),
        looks=_cased(r"\.(?:help|exit|break|clear|editor)|process\.exit\(\d*\)|exit"),
    ),
    "deno": Language(
        "JavaScript",
        "deno",
        r">",
        r"\.{3}",
        calls=_SCRIPT,
        imports=_NODE_IMPORTS,
        quotes="\"'`",
        unclear="/",
        looks=_cased(r"close\(\)|exit"),
    ),
    "bun": Language(
        "JavaScript",
        "bun",
        r">",
        r"\.{3}",
        starts="repl",
        calls=_SCRIPT,
        imports=_NODE_IMPORTS,
        quotes="\"'`",
        unclear="/",
        looks=_cased(r"\.(?:help|exit|break|clear)"),
    ),
    "ruby": Language(
        "Ruby",
        "irb",
        r"irb\([^)]*\):\d+(?::0)?>|>>",
        r"irb\([^)]*\):\d+(?::\d+)?[*>\"'`\]/]|\?>",
        calls=_RUBY,
        quotes="\"'",
        unclear="/%?<`#",
        looks=_cased(r"exit|quit"),
    ),
    "pry": Language(
        "Ruby",
        "pry",
        r"\[\d+\] [\w.-]+\([^)]*\)>",
        r"\[\d+\] [\w.-]+\([^)]*\)\*",
        calls=_PRY,
        quotes="\"'",
        unclear="/%?<`#",
        looks=_cased(r"exit|quit|ls|whereami|help"),
    ),
    "r": Language("R", "R", r">", r"\+", calls=_R, quotes="\"'", unclear="`%r", looks=_cased(r"q\(\)|quit\(\)|ls\(\)")),
    "lua": Language("Lua", "lua", r">", r">>", calls=_LUA, quotes="\"'", unclear="[-", looks=_cased(r"os\.exit\(\)")),
    "php": Language(
        "PHP",
        "php",
        r"php >",
        r"php [({\"'/*<]",
        starts=r"-a|--interactive",
        calls=_PHP,
        quotes="'",
        unclear='"/#<`?',
        looks=_cased(r"exit|quit"),
    ),
    "perl": Language(
        "Perl", "perl", r"\s*DB<+\d+>+", r"\s*cont:", starts=r"-\w*d\w*|-d.*", debugs=r"-\w*d\w*", calls=_PERL
    ),
    "perl debugger": Language("Perl", "perl", r"\s*DB<+\d+>+", r"\s*cont:", calls=_PERL, looks=_cased(r"[qTLlhv.]")),
    "haskell": Language(
        "Haskell",
        "ghci",
        r"(?:ghci|\*?[A-Z][\w. *]*|λ)>",
        r"(?:ghci|\*?[A-Z][\w. *]*|λ)\|",
        always=True,
        calls=_HASKELL,
        quotes='"',
        unclear="'-{",
        looks=_cased(r":(?:t|type|i|info|k|kind|browse|b|q|quit|\?|help|show)\b[\w\s.()>-]*"),
    ),
    "julia": Language("Julia", "julia", r"julia>", "", calls=_JULIA, quotes="", looks=_cased(r"exit\(\)")),
    "erlang": Language(
        "Erlang",
        "erl",
        r"(?:iex(?:\([^)]*\))?|(?:\([^)]*\))?\d+)>",
        r"\.\.\.(?:\([^)]*\))?>",
        always=True,
        calls=_ERLANG,
        looks=_cased(r"q\(\)\.|h\(\)\.?"),
    ),
    "other": Language("code", "", "", "", always=True, calls=RISKY_CALLS),
    "bc": Language("bc", promptless=True, always=True, looks=_cased(r"[\w\s.+*/%^()=<>;,{}\[\]-]*")),
    "dc": Language("dc", promptless=True, always=True, calls=_cased(r"!"), looks=_cased(r"[\d\s.+*/%^vkpqfcdr-]+")),
    "sqlite": Language(
        "SQL",
        "",
        r"sqlite>",
        r"\s*\.\.\.>|\s*\(?x?\d*\.*>",
        statements=True,
        looks=_cased(
            r"\.(?:tables|schema|indexes|indices|databases|dbinfo|help|show|headers?|mode|width|timer|nullvalue|echo|"
            r"changes|explain|eqp|separator|stats|version|fullschema|quit|exit|bail)(?:\s+[\w.%'\"*-]+)*"
        ),
    ),
    "psql": Language(
        "SQL",
        "",
        r"[\w.@:~/-]+=[>#*!]*[>#]|[\w.-]+=>",
        r"[\w.@:~/-]+[-*'\"$(!^][*!]*[>#]",
        statements=True,
        looks=_cased(
            r"\\(?:d[a-zA-Z]*[+S]*|l\+?|z|conninfo|timing|x|a|t|H|h|\?|pset|encoding|echo|warn|q|s[fv]\+?|copyright|errverbose)"
            r"(?:\s+[\w.%*\"-]+)*;?|\\set"
        ),
    ),
    "mysql": Language(
        "SQL",
        "",
        r"(?:mysql|MariaDB \[[^\]]*\]|\w[\w@.:() -]*)>",
        r"\s*(?:-|'|\"|`|/\*)>",
        statements=True,
        looks=_cased(r"(?:\\[shc?q]|status|help|quit|exit|clear|nowarning|warnings)\s*;?"),
    ),
    "duckdb": Language(
        "SQL",
        "",
        r"(?:[\w.]+ )?D",
        r"(?:\s*[·‣.>])+",
        statements=True,
        looks=_cased(r"\.(?:tables|schema|databases|help|show|headers?|mode|timer|quit|exit)(?:\s+[\w.%]+)*"),
    ),
    "redis": Language(
        "Redis",
        "",
        r"[\w.:\[\]-]+(?:\[\d+\])?(?:\(TX\))?>",
        "",
        statements=True,
        looks=_calls(r"ping|info(?: \w+)?|dbsize|time|help(?: [@\w]+)?|quit|exit|clear"),
    ),
    "mongo": Language(
        "MongoDB",
        "",
        r"(?:[\w -]+\[[^\]]*\] )?[\w.-]+>",
        r"\.\.\.+|\|",
        statements=True,
        calls=_SCRIPT,
        imports=_NODE_IMPORTS,
        looks=_cased(r"show (?:dbs|databases|collections|tables|users|roles)|db|help|exit|quit(?:\(\))?"),
    ),
    "sql": Language(
        "SQL", "", r"\w[\w@.:() -]*>", r"\s*(?:-|\.\.\.|:-?\])>?", statements=True, looks=_calls(r"help|quit|exit|\\q")
    ),
    "gdb": Language("the debugger", "", r"\((?:gdb|lldb)\)", r"\s*>"),
    "python debugger": Language("the debugger", "", r"\((?:i?[Pp]db(?:\+\+)?)\)|i?pdb>", r"\.\.\.", calls=RISKY_CALLS),
    "node debugger": Language("the debugger", "", r"debug>", "", calls=_SCRIPT, imports=_NODE_IMPORTS),
}
