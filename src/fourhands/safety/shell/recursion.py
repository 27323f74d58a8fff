"""Reading everything below a directory: whether that can reach secret files, or leave the workspace (C5.4)."""

from fourhands.safety.shell.file_rules import is_outside, normal
from fourhands.safety.shell.globs import matched
from fourhands.safety.shell.levels import Finding, dangerous, unknown
from fourhands.safety.shell.options import Arguments, Tool
from fourhands.safety.shell.parser.expansion import MARK, STAR, shown


def recursive(tool: Tool, args: Arguments, operands: list[str], cwd: str, workspace: str) -> list[Finding]:
    """Classify a program that may read every file below a directory; some pass over hidden files by themselves."""
    hidden = args.has(*tool.deep) or any(
        option in ("-d", "--directories") and value == "recurse" for option, value in args.options
    )
    if not (hidden or tool.always_deep):
        return []
    wanted = [word for word in args.values("--include", "-g", "--glob", "--iglob") if word[:1] != "!"]
    for name in wanted:
        secret_name, both = matched(_pattern(name.rsplit("/", 1)[-1]))
        if secret_name and not both:
            return [dangerous("C5.4", f"reads secret files: {shown(name)}")]
        if secret_name and name[:1] in ".*" and name[:2] != "*.":
            return [unknown("C5.4", f"may read secret files: {shown(name)}, for instance {secret_name}")]
    narrow = bool(wanted) and not any(matched(_pattern(name))[0] for name in wanted)
    hidden = hidden or (tool.always_deep and any(matched(_pattern(name))[0] for name in wanted))
    outside = [word for word in operands if is_outside(word, cwd, workspace)]
    findings = [unknown("C5.4", f"reads every file below {shown(word)}, secrets too") for word in outside]
    if hidden and not narrow and not outside and any(normal(word, cwd) == "." for word in operands or ["."]):
        findings.append(unknown("C5.4", "reads every file of the workspace, secrets too; name a directory or files"))
    if args.has("-R", "--dereference-recursive", "-L", "--follow"):
        findings.append(unknown("C5.4", "follows links, which may lead out of the workspace"))
    return findings


def _pattern(name: str) -> str:
    """Return a pattern that a program reads as one that the shell would."""
    return name.replace("*", STAR).replace("?", MARK)
