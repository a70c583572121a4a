"""What `hostbridge serve` prints about a bug: the request, the log, the exit code."""

from collections.abc import Iterator
from typing import Any

import pytest

from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.parser import parse
from bridge.cli.setup import serve as command
from bridge.errors import StateUnavailable
from bridge.protocol.ids import RequestId


@pytest.fixture
def serve(project, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command, with `serving` in place of the loop."""
    monkeypatch.setattr(command.Interrupts, "on", lambda *_: None)
    monkeypatch.setattr(command.Bridge, "open", lambda: project.bridge)
    monkeypatch.setattr(command, "open_workers", lambda *_, **__: {"local": None})

    def run(serving: Any) -> int:
        monkeypatch.setattr(command, "serve", serving)
        words = ["--route", "local"]
        return command.command(parse("hostbridge serve", command.OPTIONS, words))

    return run


def test_error_a_bug_is_logged(serve, monkeypatch, capsys, tmp_path):
    def serving(*_: Any, on_bug: Any, **__: Any) -> Iterator[Any]:
        try:
            yield 1 // 0
        except ZeroDivisionError as exc:
            on_bug(RequestId("a"), exc)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert serve(serving) == Exit.BUG

    (log,) = tmp_path.glob("*.log")
    assert capsys.readouterr().err.endswith(
        "hostbridge: request a: a bug: ZeroDivisionError('integer division or modulo "
        f"by zero'); the log is {log}\n"
    )
    assert "in serving" in log.read_text()


def test_what_keeps_it_from_serving_is_printed(serve, capsys):
    """It goes on, and was silent however long that took."""

    def serving(*_: Any, on_trouble: Any, **__: Any) -> Iterator[Any]:
        on_trouble(StateUnavailable("store.lock is held"))
        yield from ()

    assert serve(serving) == Exit.OK

    assert capsys.readouterr().err.endswith(
        "hostbridge: cannot serve just now, trying again: store.lock is held\n"
    )
