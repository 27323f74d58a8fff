"""Settings of the shell that are known to be harmless (C3.4), and functions that it calls by itself."""

import re

from fourhands.safety.shell.levels import FINE, Finding, unknown
from fourhands.safety.shell.options import words
from fourhands.safety.shell.parser.expansion import shown

# `set -e`, `set -o pipefail`: what an agent writes in front of a script. Not `-k` (words become variables), `-a`
# (variables reach programs), `-m`, `-H` (history), `-o history|emacs|vi|globdots …`.
_LETTERS = re.compile(r"[-+][euxvnfhbBCEPT]*o?")
_MODES = words(
    "errexit nounset pipefail xtrace verbose noglob noclobber errtrace functrace hashall braceexpand monitor posix "
    "err_exit no_unset err_return pipe_fail"
)
_SHOPT = words(
    "nullglob failglob globstar extglob lastpipe inherit_errexit nocaseglob nocasematch checkwinsize cmdhist "
    "histappend checkjobs checkhash cdspell dirspell autocd interactive_comments globskipdots globasciiranges "
    "login_shell restricted_shell"
)
_ZSH = words(
    "nullglob extendedglob nomatch kshglob ksharrays shwordsplit nonomatch pipefail errexit errreturn nounset "
    "noclobber noglob localoptions localtraps interactivecomments rcexpandparam aliases noaliases beep nobeep "
    "bareglobqual"
)
_CALLED = re.compile(
    r"preexec|precmd|chpwd|periodic|zshexit|zshaddhistory|zsh_directory_name|command_not_found_handler?|TRAP[A-Z\d]+"
)


def shell_settings(name: str, rest: list[str]) -> Finding:
    """Classify `set`, `shopt` and `setopt`: a setting that is not known may change what later words mean."""
    given = {"set": _set_names, "shopt": _names}.get(name, _names)(rest)
    known = {"set": _MODES, "shopt": _SHOPT}.get(name, _ZSH)
    if "interactive_comments" in given and any(word[:1] == "-" and "u" in word for word in rest):
        return unknown("C3.4", "makes comments commands")
    odd = next((word for word in given if _plain(word) not in known and word not in known), "")
    if _plain(odd) in ("dotglob", "globdots"):
        return unknown("C5.4", "lets patterns match hidden files, secrets too")
    return unknown("C3.4", f"{name} with a setting that is not known to be harmless: {shown(odd)}") if odd else FINE


def _names(rest: list[str]) -> list[str]:
    return [word for word in rest if word[:1] not in ("-", "+")]


def _plain(word: str) -> str:
    return word.lower().replace("_", "") if not word.islower() or "_" in word else word


def _set_names(rest: list[str]) -> list[str]:
    """Return the settings that `set` is given by name, and words of letters that are not known."""
    out: list[str] = []
    for at, word in enumerate(rest):
        if word in ("--", "-"):
            break
        if word[:1] not in ("-", "+"):
            if at and rest[at - 1][:1] in ("-", "+") and rest[at - 1].endswith("o"):
                out.append(word)
                continue
            if not word.isascii() and not at:
                out.append(word)  # only known at run time: it may be an option
            break
        if not _LETTERS.fullmatch(word):
            out.append(word)
    return out


def called_by_shell(function: str) -> bool:
    """Return True if the shell calls a function of this name without being told to."""
    return _CALLED.fullmatch(function) is not None
