"""Programs classified by the table of their subcommands (C7)."""

from collections.abc import Callable, Mapping

from fourhands.safety.shell.context import CommandContext
from fourhands.safety.shell.levels import FINE, UNKNOWN, Finding, unknown, worst
from fourhands.safety.shell.options import Tool, read
from fourhands.safety.shell.parser.expansion import is_static, literal, shown


def first_verb(operands: list[str]) -> tuple[str, list[str]]:
    """Split operands into the task's name, empty if there is none, and the rest."""
    return (operands[0], operands[1:]) if operands else ("", [])


def subcommand(
    table: Mapping[str, Tool],
    argv: list[str],
    context: CommandContext,
    special: Callable[[list[str], list[str], CommandContext], Finding],
) -> Finding:
    """Classify a program by its table of subcommands, and by `special`, which gets its words and arguments."""
    name = argv[0]
    tool, rest = table[name], argv[1:]
    path = [name]
    while tool.subs:
        args = read(rest, tool, stop=True)
        flags = {option for option, _ in args.options}
        if not args.operands:
            if flags & {"--help", "--version", "-h", "-v", "-V", "version"} and len(rest) == 1:
                return FINE
            break
        verb = literal(args.operands[0])
        if not is_static(verb):
            return unknown("C7", f"{' '.join(path)} with a subcommand that is only known at run time")
        path.append(verb)
        rest = args.operands[1:]
        if rest == ["--help"]:
            return FINE
        following = tool.subs.get(verb)
        if following is None:
            tool = Tool(rank=max(tool.rank, UNKNOWN), reason=tool.reason, rule=tool.rule)
            break
        tool = following
    finding = worst(special(path, rest, context), context.classifier.plain(tool, rest, context))
    return finding._replace(reason=f"{' '.join(map(shown, path))}: {finding.reason}") if finding.rank else finding
