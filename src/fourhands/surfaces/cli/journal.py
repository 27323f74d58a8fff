"""`fourhands journal`: what was called here, by whom, and what came of it."""

import sqlite3
from datetime import datetime
from pathlib import Path

import click

from fourhands.core.call import JournalEntry
from fourhands.core.errors import BadArgument, Unavailable
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.cli.base import json_option, one_line, show, workspace_option
from fourhands.surfaces.console import told
from fourhands.workbench.records import ledger
from fourhands.workbench.records.journal import export
from fourhands.workbench.records.ledger import JournalQuery

ANSWER = "openspace.workbench.answer"


@click.command()
@click.option("--session", help="Only this agent session.")
@click.option("--command", help="Only this command, e.g. openspace.terminal.send.")
@click.option(
    "--limit", "-n", default=50, type=click.IntRange(min=1), show_default=True, help="How many of the last calls."
)
@click.option("--export", "target", type=click.Path(dir_okay=False), help="Write all of it to a file, one JSON a line.")
@workspace_option
@json_option
@told
def journal(
    session: str | None, command: str | None, limit: int, target: str | None, workspace: str, as_json: bool
) -> None:
    """Show every call, its actor and its result; or export them. Needs no running server."""
    path = Path(WorkspaceDirs.of(workspace).state) / "journal.sqlite"
    wanted = JournalQuery(session=session, command=command)
    try:
        _show(path, wanted, limit, target, as_json=as_json)
    except sqlite3.Error as error:
        raise Unavailable(f"cannot read the journal {path}: {error}") from error


def _show(path: Path, wanted: JournalQuery, limit: int, target: str | None, *, as_json: bool) -> None:
    if target is not None:
        try:
            with open(target, "w", encoding="utf-8") as file:
                count = export(path, file, wanted) if path.exists() else 0
        except OSError as error:
            raise BadArgument(f"cannot write {target}: {error.strerror}") from error
        if as_json:
            show({"calls": count, "file": target}, as_json=True)
        else:
            click.echo(f"{count} calls written to {target}.")
        return
    entries = ledger.read(path, wanted, limit) if path.exists() else []  # nothing was served here yet
    if as_json:
        show(entries, as_json=True)
        return
    for entry in entries:
        result = entry.result
        outcome = "…" if result is None else "ok" if result.success else f"{result.code}: {result.error}"
        line = f"{_time(entry.asked)}  {entry.call.actor.name:<10} {entry.call.command:<34} {outcome}{_hand(entry)}"
        click.echo(one_line(line))
    if not entries:
        click.echo("The journal is empty.")


def _hand(entry: JournalEntry) -> str:
    """Return which browser signed a call, and what it answered to which question, or which configuration allowed it."""
    args = entry.call.args
    if entry.verdict.choice == "configured":
        agent = entry.result.data.get("agent", "") if entry.result is not None else ""
        return f"  {agent}: {entry.verdict.by}"
    told = (
        f"  {args['choice']} to {args.get('questionId')}" if entry.call.command == ANSWER and "choice" in args else ""
    )
    return f"{told}  signed by {entry.verdict.by}" if entry.verdict.choice == "signed" else told


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
