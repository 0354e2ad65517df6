"""The commands of the shell that are not statements: a backslash and a word, as in psql."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from millstream.cli.common import read_script
from millstream.cli.shell_queries import closing_line
from millstream.errors import MillstreamError, SettingError, suggest

if TYPE_CHECKING:
    from millstream.cli.shell import Shell

KEYS = """\
A statement ends with ';' and may take several lines.
  Enter      runs it once it is complete    Alt-Enter  always begins a new line
  Tab        completes names and keywords   Ctrl-R     searches the history
  Ctrl-C     stops the query whose rows you see, or clears the line
  Ctrl-D     quits"""


class Quit(Exception):
    """The user wants to leave."""


class Command(NamedTuple):
    """One command: its name, what follows it, what it does, and the function that does it."""

    name: str
    argument: str
    what: str
    run: Callable[[Shell, str], None]


def is_command(text: str) -> bool:
    """Whether a text is a command of the shell, not a statement."""
    return text.lstrip().startswith("\\")


def run_command(shell: Shell, line: str) -> None:
    r"""Carry out a line that begins with a backslash."""
    name, _, argument = line.strip().rstrip(";").strip().partition(" ")
    if name == "\\h":
        name = "\\?"
    command = next((c for c in COMMANDS if c.name == name), None)
    if command is None:
        hint = suggest(name, [c.name for c in COMMANDS])
        raise SettingError(f"error: there is no command {name}\nhelp: {hint}")
    if argument.strip() and not command.argument:
        raise SettingError(f"error: {name} takes nothing after it, not '{argument.strip()}'")
    command.run(shell, argument.strip())


def _help(shell: Shell, argument: str) -> None:
    width = max(len(f"{c.name} {c.argument}") for c in COMMANDS)
    lines = [f"  {f'{c.name} {c.argument}':<{width}}  {c.what}" for c in COMMANDS]
    shell.output.write("\n".join((*lines, "", KEYS)))


def _describe(shell: Shell, argument: str) -> None:
    from millstream.language.names import kind_of
    from millstream.mill.answers import table_of
    from millstream.mill.reports.describe import headline

    if argument:
        shell.run_text(f"DESCRIBE {argument};")
        return
    states = {q.name: q.state for q in shell.mill.queries}
    rows: list[tuple[object, ...]] = []
    for definition in shell.mill.catalog:
        details = headline(definition.name, definition, shell.mill.engine.readers.describe_history).partition(", ")[2]
        state = states.get(definition.name) if kind_of(definition) == "query" else None
        rows.append((definition.name, kind_of(definition), f"{state}, {details}" if state else details))
    shell.output.show_table("", table_of(["name", "kind", "what it is"], rows))


def _include(shell: Shell, argument: str) -> None:
    try:
        words = shlex.split(argument)
    except ValueError as problem:
        raise SettingError(f"error: \\i {argument}: {problem}") from None
    if len(words) != 1:
        raise SettingError("error: \\i needs the name of one script\nhelp: \\i my-script.esl")
    shell.run_text(read_script(Path(words[0]).expanduser()), Path(words[0]).expanduser().absolute().parent)


def _json(shell: Shell, argument: str) -> None:
    shell.output.as_json = not shell.output.as_json
    shell.output.say(f"rows are shown as {'JSON' if shell.output.as_json else 'tables'}")


def _switch_timing(shell: Shell, argument: str) -> None:
    shell.timing = not shell.timing
    shell.output.say(f"timing is {'on' if shell.timing else 'off'}")


def _stop(shell: Shell, argument: str) -> None:
    queries = [shell.mill.query(argument)] if argument else list(shell.mill.queries)
    running = [q for q in queries if q.is_active]
    if not running:
        shell.output.say(f"query {argument} does not run" if argument else "no query runs")
    problems = []
    for query in running:
        try:
            shell.mill.stop(query)
            shell.output.say(closing_line(query))
        except MillstreamError as problem:
            # One that does not stop must not keep the others going.
            problems.append(str(problem))
    if problems:
        raise MillstreamError("\n".join(problems))


def _quit(shell: Shell, argument: str) -> None:
    raise Quit


COMMANDS = (
    Command("\\?", "", "this help (also \\h)", _help),
    Command("\\d", "[NAME]", "list streams, tables, sinks and queries, or describe one", _describe),
    Command("\\i", "FILE", "run the statements of a script", _include),
    Command("\\stop", "[QUERY]", "stop a running query, or all of them", _stop),
    Command("\\timing", "", "tell after each statement how long it took, or no longer", _switch_timing),
    Command("\\x", "", "show rows as JSON, or as tables again", _json),
    Command("\\q", "", "quit (also exit; and quit;)", _quit),
)
