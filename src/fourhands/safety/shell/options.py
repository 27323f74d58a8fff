"""Programs' arguments: the table entry `Tool`, and options and operands split as getopt does."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fourhands.safety.shell.levels import DANGEROUS, READ_ONLY, SAFE, UNKNOWN, Finding, dangerous

NOTHING: frozenset[str] = frozenset()


def words(text: str) -> frozenset[str]:
    """Return the blank-separated words of a table's text."""
    return frozenset(text.split())


@dataclass(frozen=True)
class Tool:
    """A table entry: the policy for one program, or one of its subcommands.

    `operands` are `read` (files whose content is read), `name` (files of which only the name is used),
    `text` (no files), `write` (all written), `last` (the last is written, the others read), `second` (the same for a
    second one). `skip` leading operands are text, unless one of the options `unskip` gave that text.
    Options: `takes` a value; the value is a file in `writes`, a program in `runs`, text in `texts`. `danger` and `ask`
    are options that raise the level, with the reason (which may start with a rule of its own). `deep` options make it
    read every file below a directory. `single`: long options start with one dash.
    """

    rank: int = SAFE
    reason: str = READ_ONLY
    rule: str = "C7"
    operands: str = "read"
    skip: int = 0
    unskip: frozenset[str] = NOTHING
    takes: frozenset[str] = NOTHING
    writes: frozenset[str] = NOTHING
    runs: frozenset[str] = NOTHING
    texts: frozenset[str] = NOTHING
    danger: Mapping[str, str] = field(default_factory=dict)
    ask: Mapping[str, str] = field(default_factory=dict)
    deep: frozenset[str] = NOTHING
    always_deep: bool = False  # reads below directories without them too, but no hidden files
    single: bool = False
    subs: Mapping[str, "Tool"] = field(default_factory=dict)
    finding: Finding = field(init=False, repr=False)
    with_value: frozenset[str] = field(init=False, repr=False)
    known: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        valued = self.takes | self.writes | self.runs | self.texts
        object.__setattr__(
            self,
            "finding",
            (
                dangerous(self.rule, self.reason)
                if self.rank == DANGEROUS
                else Finding(self.rank, self.rule, self.reason)
            ),
        )
        object.__setattr__(self, "with_value", valued)
        listed = valued | self.danger.keys() | self.ask.keys() | self.unskip | self.deep
        object.__setattr__(self, "known", tuple(sorted(option for option in listed if option.startswith("--"))))


@dataclass(slots=True)
class Arguments:
    """Options with their values, in order, and operands."""

    options: list[tuple[str, str | None]]
    operands: list[str]

    def has(self, *names: str) -> bool:
        """Return True if one of these options was given."""
        return any(option in names for option, _ in self.options)

    def values(self, *names: str) -> list[str]:
        """Return the values given to these options."""
        return [value for option, value in self.options if option in names and value is not None]


def read(argv: list[str], tool: Tool, *, stop: bool = False) -> Arguments:
    """Cut `argv` (without the program's name); `stop` ends options at the first operand, as wrappers do."""
    options: list[tuple[str, str | None]] = []
    operands: list[str] = []
    at, count = 0, len(argv)
    while at < count:
        arg = argv[at]
        at += 1
        if arg[:1] != "-" or arg == "-":
            operands.append(arg)
            if stop:
                break
        elif arg == "--":
            break
        elif arg[:2] == "--" or tool.single:
            name, equals, value = arg.partition("=")
            name = _full(name, tool)
            if equals:
                options.append((name, value))
            elif name in tool.with_value and at < count:
                options.append((name, argv[at]))
                at += 1
            else:
                options.append((name, None))
        else:
            at = _bundle(arg, argv, at, tool, options)
    operands.extend(argv[at:])
    return Arguments(options, operands)


def _bundle(arg: str, argv: list[str], at: int, tool: Tool, options: list[tuple[str, str | None]]) -> int:
    for place, letter in enumerate(arg[1:65], 1):
        name = "-" + letter
        if name in tool.with_value:
            rest = arg[place + 1 :]
            if rest:
                options.append((name, rest))
            elif at < len(argv):
                options.append((name, argv[at]))
                at += 1
            else:
                options.append((name, None))
            return at
        options.append((name, None))
    return at


def _full(name: str, tool: Tool) -> str:
    """Complete an abbreviated long option; of several the first listed, since all listed ones matter."""
    if name in tool.known or len(name) < 4:
        return name
    for option in tool.known:
        if option.startswith(name):
            return option
    return name


def ruled(reason: str, rule: str) -> tuple[str, str]:
    """Split a table's reason that names its own rule, as in `C5.1 deletes files`."""
    first, _, rest = reason.partition(" ")
    return (first, rest) if first[:1] == "C" and first[1:2].isdigit() else (rule, reason)


def subcommands(
    look: str = "", ask: str = "", bad: str = "", *, why: str = "", takes: str = "", **nested: Tool
) -> Tool:
    """Build a tool from three lists of subcommands; a subcommand in none of them is unknown."""
    table: dict[str, Tool] = {}
    for names, rank, reason in (
        (look, SAFE, READ_ONLY),
        (ask, UNKNOWN, "changes something"),
        (bad, DANGEROUS, why or "destroys"),
    ):
        for name in names.split():
            rule, plain = ruled(reason, "C7")
            table[name] = Tool(
                rank=rank,
                rule=rule,
                reason=f"{plain}: {name}" if rank else READ_ONLY,
                operands="read" if rank else "text",
                takes=words(takes),
            )
    table.update({name.replace("_", "-").strip("-"): tool for name, tool in nested.items()})
    return Tool(rank=UNKNOWN, reason="not known to be harmless", operands="read", takes=words(takes), subs=table)
