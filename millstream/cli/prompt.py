"""The prompt of the shell: history, highlighting, completion, and what Enter means."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.catalog.catalog import Catalog
from millstream.cli.shell_commands import COMMANDS, is_command

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.output import Output

PROMPT = "esl> "
CONTINUATION = "...> "


def prompt_session(
    catalog: Callable[[], Catalog], base: Path | str, keys: Input | None, screen: Output | None, history: Path
) -> PromptSession[str]:
    """A prompt with history, colours, completion and many lines."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.lexers import PygmentsLexer
    from prompt_toolkit.styles import Style

    from millstream.cli.completer import EslCompleter
    from millstream.cli.lexer import COLOURS, EslLexer

    return PromptSession(
        multiline=True,
        prompt_continuation=_continuation,
        history=_history(history),
        lexer=PygmentsLexer(EslLexer, sync_from_start=True),
        style=Style.from_dict(COLOURS),
        include_default_pygments_style=False,
        completer=EslCompleter(catalog, [c.name for c in COMMANDS], base),
        key_bindings=_key_bindings(),
        input=keys,
        output=screen,
    )


def history_file() -> Path:
    """Where the history of the shell is kept."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "millstream" / "history"


def _history(path: Path) -> History:
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Statements may hold what only their author should see.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)


def _key_bindings() -> KeyBindings:
    from prompt_toolkit.application import get_app
    from prompt_toolkit.enums import DEFAULT_BUFFER
    from prompt_toolkit.filters import Condition, has_focus
    from prompt_toolkit.key_binding import KeyBindings

    from millstream.language.parser import is_complete

    bindings = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @Condition
    def is_choosing() -> bool:
        state = get_app().current_buffer.complete_state
        return state is not None and state.current_completion is not None

    @bindings.add("enter", filter=typing & is_choosing)
    def _choose(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @bindings.add("enter", filter=typing & ~is_choosing)
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        word = buffer.text.strip().lower()
        if is_command(word) or word in {"exit", "quit"} or is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=True)

    @bindings.add("escape", "enter", filter=typing)
    def _newline(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=True)

    return bindings


def _continuation(width: int, line: int, wraps: int) -> str:
    # A long line that the terminal breaks is still one line.
    return " " * width if wraps else CONTINUATION
