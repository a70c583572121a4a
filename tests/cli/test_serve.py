"""What `hostbridge serve` says of a bug: the request, the log, and an exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.cli import serve as command
from bridge.cli.exit_codes import Exit
from bridge.errors import StateUnavailable
from bridge.protocol.ids import RequestId

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest


def test_error_a_bug_is_logged_and_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def serving(*_: Any, on_bug: Any, **__: Any) -> Iterator[Any]:
        try:
            yield 1 // 0
        except ZeroDivisionError as exc:
            on_bug(RequestId("a"), exc)

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(command, "serve", serving)
    monkeypatch.setattr(command.Interrupts, "on", lambda *_: None)
    monkeypatch.setattr(command.Bridge, "open", lambda: None)

    assert command.command() == Exit.BUG

    told = capsys.readouterr().err
    (log,) = tmp_path.iterdir()
    assert told == (
        "hostbridge: request a: a bug: ZeroDivisionError('integer division or modulo "
        "by zero'); "
        f"the log is {log}\n"
    )
    assert "in serving" in log.read_text()


def test_what_keeps_it_from_serving_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It goes on, and was silent however long that took."""

    def serving(*_: Any, on_trouble: Any, **__: Any) -> Iterator[Any]:
        on_trouble(StateUnavailable("store.lock is held"))
        yield from ()

    monkeypatch.setattr(command, "serve", serving)
    monkeypatch.setattr(command.Interrupts, "on", lambda *_: None)
    monkeypatch.setattr(command.Bridge, "open", lambda: None)

    assert command.command() == Exit.OK

    assert capsys.readouterr().err == (
        "hostbridge: nothing can be served just now, it is tried again: store.lock is "
        "held\n"
    )
