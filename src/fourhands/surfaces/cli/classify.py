"""`fourhands classify`: how a shell line is judged."""

import sys

import click

from fourhands.safety.input import classify_input, reader_of_command
from fourhands.safety.shell import ClassifierRules, classify, visible
from fourhands.safety.shell.effects import described
from fourhands.settings import load
from fourhands.surfaces.cli.base import json_option, show, workspace_option
from fourhands.surfaces.console import told

EXIT_OF_LEVEL = {"safe": 0, "unknown": 10, "dangerous": 20}


@click.command("classify")
@click.argument("line")
@click.option("--interactive", is_flag=True, help="As typed into a shell, where ! recalls earlier commands.")
@click.option("--program", metavar="COMMAND", help="As typed at the prompt of a program: python3, 'psql app', vim.")
@workspace_option
@json_option
@told
def classify_line(line: str, interactive: bool, program: str | None, workspace: str, as_json: bool) -> None:
    """Classify the shell line LINE as safe, unknown or dangerous, and print the reason.

    With --program, LINE is input for what that command starts.

    Ends with 0 for safe, 10 for unknown, 20 for dangerous.
    """
    safety = load(workspace).safety
    rules = ClassifierRules(safety.safe_commands, safety.dangerous_commands)
    if program is None:
        verdict = classify(line, rules, interactive=interactive)
    else:
        verdict = classify_input(line, reader_of_command(program), rules)
    if as_json:
        parts = [{"text": p.text, "level": p.level, "reason": p.reason, "rule": p.rule} for p in verdict.parts]
        found = {"level": verdict.level, "reason": verdict.reason, "rule": verdict.rule, "parts": parts}
        show({**found, "effects": described(verdict.effects)}, as_json=True)
    else:
        colours = {"safe": "green", "unknown": "yellow", "dangerous": "red"}
        click.echo(f"{click.style(verdict.level, fg=colours[verdict.level], bold=True)}: {verdict.reason}")
        for part in verdict.parts:
            level = click.style(f"{part.level:<9}", fg=colours[part.level])
            reason = part.reason.removeprefix(f"{part.level}: ")
            click.echo(f"  {level} {visible(part.text)}  {click.style(reason, dim=True)}")
    sys.exit(EXIT_OF_LEVEL[verdict.level])
