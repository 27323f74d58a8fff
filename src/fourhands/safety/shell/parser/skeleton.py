"""The skeleton of a script: a text for the grammar in which every word is one letter.

Scripts that the grammar could not read in reasonable time are recognized here too.
"""

from fourhands.safety.shell.parser.tokens import ARITHMETIC, DEPTH_LIMIT, OPERATOR, PLAIN, REDIRECT, RESERVED, Token

# Word-like starters that change nothing about structure; the classifier sees them as words where it matters.
_DROPPED = frozenset({"!", "time", "coproc"})
_SAME = {"|&": "|", ";&": ";;", ";;&": ";;", "select": "for"}
_AFTER_COMPOUND = frozenset({"}", "done", "fi", "esac", ")"})
_OPENING = frozenset({"(", "{", "if", "while", "until", "for", "select", "case"})
_JOINTS = frozenset({"|", "|&", "||", "&&", "&", ";"})
_UNFINISHED = frozenset({"|", "|&", "||", "&&"})
_LOOP_STARTS = frozenset({"while", "until", "for", "select"})
_CLOSED_BY = {
    "}": frozenset("{"),
    ")": frozenset("("),
    "fi": frozenset({"if"}),
    "done": _LOOP_STARTS,
    "esac": frozenset({"case"}),
}
_INSIDE = {"then": _CLOSED_BY["fi"], "elif": _CLOSED_BY["fi"], "else": _CLOSED_BY["fi"], "do": _LOOP_STARTS}


def skeleton(tokens: list[Token]) -> tuple[str, dict[int, int]]:
    """Return the skeleton, and for each offset in it the number of the token that stands there."""
    out: list[str] = []
    index: dict[int, int] = {}  # offset in the skeleton -> token
    offset, fresh, function = 0, True, False
    count = len(tokens)
    for number, (kind, value, _, _) in enumerate(tokens):
        sign = "_"
        if kind in (OPERATOR, RESERVED):
            assert isinstance(value, str)
            sign = _SAME.get(value, value)
            if sign in _DROPPED:
                continue
            if sign == "function":
                function = True
                continue
        elif kind == REDIRECT:
            # Behind something it leaves no trace; alone it must stand for the missing command.
            if not fresh:
                index.setdefault(-number - 1, number)
                continue
        elif kind == ARITHMETIC:
            sign = "_ in _" if out and out[-1] == "for" else "_"
        elif kind == PLAIN:
            pass
        elif function:
            function = False
            opens = number + 1 < count and tokens[number + 1].value == "("
            sign = "_" if opens else "_ ( )"
        elif (
            value == "-p" and number and tokens[number - 1].value == "time" and tokens[number - 1].kind == RESERVED
        ) or (
            number
            and tokens[number - 1].value == "coproc"
            and tokens[number - 1].kind == RESERVED
            and _names(tokens, number)
        ):
            continue
        index[offset] = number
        out.append(sign)
        offset += len(sign) + 1
        fresh = kind != REDIRECT and (
            (kind == OPERATOR and sign != ")") or (kind == RESERVED and sign not in _AFTER_COMPOUND and sign != "in")
        )
    return " ".join(out), index


def _names(tokens: list[Token], number: int) -> bool:
    """Return True if the word behind `coproc` is its name: a group follows."""
    return number + 1 < len(tokens) and tokens[number + 1].value in ("{", "(")


def hopeless(tokens: list[Token]) -> str:
    """Return "wrong" for a script that is no bash, "deep" for one nested too deeply, "" for any other.

    The grammar would take long to find out.
    """
    depth, cases, before = 0, 0, ""
    for kind, value, _, _ in tokens:
        sign = value if kind in (OPERATOR, RESERVED) and isinstance(value, str) else ""
        if sign in _JOINTS and before in _JOINTS:
            return "wrong"
        if sign in _OPENING and not (cases and sign == "("):
            depth += 1
            cases += sign == "case"
            if depth > DEPTH_LIMIT:
                return "deep"
        elif sign in _AFTER_COMPOUND:
            if not depth:
                return "wrong"
            # The parenthesis behind a case's pattern closes nothing; in a case only its end is counted.
            cases -= sign == "esac"
            depth -= not (cases and sign == ")")
        before = sign
    return ""


def unbalanced(tokens: list[Token]) -> bool:
    """Return True if compounds are not closed as they were opened, or a list breaks off.

    The grammar would search for the least repair of such a script, which takes it the square of its length in time and
    memory. A script that is right may seem wrong here, never the other way round for one that is merely cut off.
    """
    opened: list[str] = []
    before = ""
    for kind, value, _, _ in tokens:
        sign = value if kind in (OPERATOR, RESERVED) and isinstance(value, str) else ""
        if before in _UNFINISHED and (sign in _CLOSED_BY or sign in _JOINTS):
            return True
        if sign in _OPENING and not (opened and opened[-1] == "case" and sign == "("):
            opened.append(sign)
        elif sign in _CLOSED_BY:
            if opened and opened[-1] == "case" and sign == ")":
                continue
            if not opened or opened.pop() not in _CLOSED_BY[sign]:
                return True
        elif sign in _INSIDE and not (opened and opened[-1] in _INSIDE[sign]):
            return True
        before = sign if sign != "\n" else before
    return bool(opened) or before in _UNFINISHED
