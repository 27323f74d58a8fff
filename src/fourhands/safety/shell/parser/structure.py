"""The structure of a script: tokens become a skeleton, in which tree-sitter's bash grammar finds the commands.

Every word is one letter in the skeleton, so the grammar decides only what it is good at: lists, pipelines, groups,
conditions, loops, cases and functions. Nothing here recurses in Python, whatever the nesting.
"""

from dataclasses import dataclass, field

import tree_sitter
import tree_sitter_bash

from fourhands.safety.shell.parser.skeleton import hopeless, skeleton, unbalanced
from fourhands.safety.shell.parser.tokens import (
    ARITHMETIC,
    DEPTH_LIMIT,
    OPERATOR,
    PLAIN,
    REDIRECT,
    RESERVED,
    Redirect,
    Script,
    Token,
    Word,
)

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
_SMALL = 200  # tokens that the grammar may parse however wrong they are
_LOOPS = frozenset({"while_statement", "for_statement", "c_style_for_statement"})


@dataclass(slots=True)
class CommandScope:
    """The surroundings of a command: what encloses it, and the source of its input."""

    functions: tuple[str, ...] = ()
    background: bool = False
    endless: bool = False
    piped: bool = False  # in a pipeline with others
    fed_from: int = -1  # number of the first command whose output it reads
    inputs: list[Redirect] = field(default_factory=list)  # redirections of the compound around it
    depth: int = 0


@dataclass(slots=True)
class Simple:
    """One simple command; `loop` holds the words that a `for` assigns to its variable one after the other."""

    words: list[str | Word]
    redirects: list[Redirect]
    place: CommandScope
    start: int
    end: int
    loop: list[str | Word] | None = None
    arithmetic: bool = False
    compound: bool = False


@dataclass(slots=True)
class Structure:
    """The commands of a script in the order of its text."""

    commands: list[Simple]
    broken: bool = False
    too_deep: bool = False


def structure(script: Script) -> Structure:
    """Find every simple command of `script`."""
    tokens = script.tokens
    if len(tokens) == 1 and tokens[0].kind == PLAIN:
        _, value, start, end = tokens[0]
        assert isinstance(value, str)
        return Structure([Simple([*value.split()], [], _TOP, start, end)])
    flat = _flat(tokens)
    if flat is not None:
        return Structure(flat)
    if trouble := hopeless(tokens):
        return Structure(_runs(tokens), broken=True, too_deep=trouble == "deep")
    if len(tokens) > _SMALL and unbalanced(tokens):
        return Structure(_runs(tokens), broken=True)
    text, index = skeleton(tokens)
    if not index:
        return Structure([])
    root = _PARSER.parse(text.encode("ascii")).root_node
    result = Structure([], broken=root.has_error)
    _walk(root, tokens, index, result)
    if result.broken:
        # The grammar passes over commands in what it does not understand; those of plain words are known to be some.
        found = {command.start for command in result.commands}
        plain = [number for number, token in enumerate(tokens) if token.kind == PLAIN and token.start not in found]
        result.commands += [_simple(tokens, number, _TOP) for number in plain]
    return result


_TOP, _HEAD = CommandScope(), CommandScope(piped=True)
_SEPARATORS = frozenset({";", "\n", "&", "&&", "||", "|", "|&"})


def _flat(tokens: list[Token]) -> list[Simple] | None:
    """Return the commands of a plain list or pipeline, where there is nothing for a grammar to decide.

    Jobs in the background matter in functions and loops only, so `&` is like `;` here.
    """
    commands: list[Simple] = []
    first, fed = -1, _TOP  # of the pipeline that is being read
    at, count = 0, len(tokens)
    while at < count:
        token = tokens[at]
        kind = token.kind
        if kind == OPERATOR and token.value == "\n" and first < 0:
            at += 1
            continue
        if kind == PLAIN:
            value = token.value
            assert isinstance(value, str)
            command = Simple([*value.split()], [], _TOP, token.start, token.end)
            at += 1
        elif kind in (OPERATOR, RESERVED):
            return None
        else:
            command = _simple(tokens, at, _TOP)
            while at < count and tokens[at].kind not in (OPERATOR, RESERVED):
                at += 1
        sign = tokens[at].value if at < count else ";"
        if sign not in _SEPARATORS or (sign in ("&&", "||", "|", "|&") and at + 1 >= count):
            return None
        at += 1
        if first >= 0:
            command.place = fed
        commands.append(command)
        if sign == "|" or sign == "|&":
            if first < 0:
                first = len(commands) - 1
                command.place, fed = _HEAD, CommandScope(piped=True, fed_from=first)
            continue
        first = -1
        if sign in ("&&", "||"):
            while at < count and tokens[at].value == "\n" and tokens[at].kind == OPERATOR:
                at += 1
            if at >= count:
                return None
    return None if first >= 0 else commands


def _runs(tokens: list[Token]) -> list[Simple]:
    """Return every run of words as a command, whatever stands between them; pipelines are still followed."""
    commands: list[Simple] = []
    at, count, first = 0, len(tokens), -1
    while at < count:
        if tokens[at].kind in (OPERATOR, RESERVED):
            if tokens[at].value in ("|", "|&"):
                first = len(commands) - 1 if first < 0 else first
            elif tokens[at].value != "\n":
                first = -1
            at += 1
            continue
        place = _TOP if first < 0 else CommandScope(piped=True, fed_from=first)
        commands.append(_simple(tokens, at, place))
        while at < count and tokens[at].kind not in (OPERATOR, RESERVED):
            at += 1
        if at < count and tokens[at].value not in ("|", "|&"):
            first = -1
    return commands


def _walk(root: tree_sitter.Node, tokens: list[Token], index: dict[int, int], result: Structure) -> None:
    stack: list[tuple[tree_sitter.Node, CommandScope]] = [(root, CommandScope())]
    commands = result.commands
    while stack:
        node, place = stack.pop()
        kind = node.type
        if kind == "command":
            number = index.get(node.start_byte)
            if number is None or tokens[number].kind in (OPERATOR, RESERVED):
                result.broken = True
            else:
                commands.append(_simple(tokens, number, place))
            continue
        if not node.child_count:
            continue
        if place.depth > DEPTH_LIMIT:
            result.too_deep = True
        children = node.children
        if kind == "pipeline":
            _pipeline(children, place, stack, len(commands))
            continue
        inner = place
        if kind in ("subshell", "compound_statement", "if_statement", "case_statement") or kind in _LOOPS:
            inner = _compound(node, kind, place, tokens, index, commands)
        elif kind == "function_definition":
            name = tokens[index[node.start_byte]].value
            known = name if isinstance(name, str) else ""
            inner = CommandScope((*place.functions[-8:], known), depth=place.depth + 1)
        elif kind == "ERROR":
            result.broken = True
        for at in range(len(children) - 1, -1, -1):
            child = children[at]
            if not child.is_named:
                continue
            if at + 1 < len(children) and children[at + 1].type == "&":
                stack.append((child, _background(inner)))
            else:
                stack.append((child, inner))


def _background(place: CommandScope) -> CommandScope:
    return CommandScope(place.functions, True, place.endless, place.piped, place.fed_from, place.inputs, place.depth)


def _pipeline(
    children: list[tree_sitter.Node],
    place: CommandScope,
    stack: list[tuple[tree_sitter.Node, CommandScope]],
    first: int,
) -> None:
    """Push the stages with the source of their input; the first stage is walked next, so its commands come next."""
    stages = [child for child in children if child.is_named]
    for at in range(len(stages) - 1, -1, -1):
        inner = CommandScope(
            place.functions,
            place.background,
            place.endless,
            len(stages) > 1 or place.piped,
            first if at else place.fed_from,
            place.inputs,
            place.depth,
        )
        stack.append((stages[at], inner))


def _compound(
    node: tree_sitter.Node,
    kind: str,
    place: CommandScope,
    tokens: list[Token],
    index: dict[int, int],
    commands: list[Simple],
) -> CommandScope:
    first = index.get(node.start_byte, 0)
    endless = place.endless or (kind in _LOOPS and _endless(tokens, first))
    # A child's start is where its own tokens start: the closing sign tells where redirections may follow.
    last = index.get(node.end_byte - len(_text(node.children[-1])), first)
    redirects: list[Redirect] = []
    after = last + 1
    while after < len(tokens) and tokens[after].kind == REDIRECT:
        redirect = tokens[after].value
        assert isinstance(redirect, Redirect)
        redirects.append(redirect)
        after += 1
    loop = _loop(tokens, first) if kind == "for_statement" else None
    if loop:
        values = [token.value for token in loop if not isinstance(token.value, Redirect)]
        commands.append(Simple([], [], place, tokens[first].start, loop[-1].end, values, compound=True))
    if kind in _LOOPS and first + 1 < len(tokens) and tokens[first + 1].kind == ARITHMETIC:
        head = tokens[first + 1]
        if isinstance(head.value, Word):
            commands.append(Simple([head.value], [], place, head.start, head.end, arithmetic=True, compound=True))
    if redirects:
        commands.append(Simple([], redirects, place, tokens[last + 1].start, tokens[after - 1].end, compound=True))
    inputs = [redirect for redirect in redirects if redirect.op.startswith("<")]
    return CommandScope(
        place.functions,
        place.background,
        endless,
        place.piped,
        place.fed_from,
        [*place.inputs, *inputs] if inputs else place.inputs,
        place.depth + 1,
    )


def _text(node: tree_sitter.Node) -> bytes:
    while node.child_count:
        node = node.children[-1]
    return node.text or b""


def _endless(tokens: list[Token], first: int) -> bool:
    head = tokens[first].value
    following = tokens[first + 1] if first + 1 < len(tokens) else None
    if following is None:
        return False
    if following.kind == ARITHMETIC and isinstance(following.value, Word):
        text = "".join(piece.text for piece in following.value.pieces).replace(" ", "")
        return ";;" in text or text == "1"
    if head == "while":
        return following.value in (":", "true", "1")
    return head == "until" and following.value == "false"


def _loop(tokens: list[Token], first: int) -> list[Token] | None:
    if first + 2 >= len(tokens) or tokens[first + 2].value != "in":
        return [tokens[first + 1]] if first + 1 < len(tokens) and tokens[first + 1].kind != ARITHMETIC else None
    words = [tokens[first + 1]]
    at = first + 3
    while at < len(tokens) and tokens[at].kind not in (OPERATOR, RESERVED):
        words.append(tokens[at])
        at += 1
    return words


def _simple(tokens: list[Token], number: int, place: CommandScope) -> Simple:
    words: list[str | Word] = []
    redirects: list[Redirect] = []
    arithmetic = tokens[number].kind == ARITHMETIC
    start = tokens[number].start
    end = start
    count = len(tokens)
    while number < count:
        token = tokens[number]
        value = token.value
        if token.kind == OPERATOR or token.kind == RESERVED:
            break
        if isinstance(value, Redirect):
            redirects.append(value)
        elif token.kind == PLAIN and isinstance(value, str):
            words.extend(value.split())
        else:
            words.append(value)
        end = token.end
        number += 1
    return Simple(words, redirects, place, start, end, arithmetic=arithmetic)
