"""What `ask --watch` says of a file that never comes to rest."""

from __future__ import annotations

from argparse import Namespace

import pytest
from storeworld import FakeClock

from bridge.api.watching import MOST_S, Watched
from bridge.cli.ask_watched import watch
from bridge.freshness.disk import Disk
from bridge.freshness.reads import Entry, Reads


class Stop(Exception):
    """The user's interrupt."""


def test_it_is_named_when_it_is_asked_about(tmp_path, capsys):
    """Else nobody would know why the question is asked again and again."""
    log = tmp_path / "build.log"
    log.write_text("begun\n")
    clock, disk = FakeClock(), Disk()
    seen = disk.see(str(log))
    entry = Entry(seen.kind, disk.digest(str(log), seen.kind), seen.facts)
    reads = Reads("", "", str(tmp_path), "", 0, files={str(log): entry})
    answers = iter([Namespace(request_id="a"), Namespace(request_id="b")])
    shown: list[str] = []

    def ask():
        return next(answers)

    def interrupts():
        if len(shown) == 2:
            raise Stop
        clock.go_on(MOST_S / 2)
        with log.open("a") as opened:
            opened.write("more\n")

    class Project:
        def watch(self, _request_id):
            return Watched(reads, clock=clock)

    with pytest.raises(Stop):
        watch(
            Project(),
            Namespace(as_json=True),
            ask,
            lambda result: shown.append(result.request_id),
            interrupts,
        )

    assert shown == ["a", "b"]
    assert capsys.readouterr().err == (
        f"hostbridge: {log} goes on changing; asking all the same\n"
    )
