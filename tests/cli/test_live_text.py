"""What `status --watch` draws: everything that matters, as large as the terminal is."""

import pytest
from overviews import RUNS, ended, live, seen, session
from screens import same_as_file, too_wide

from bridge.api.runs_now import LiveRun
from bridge.bound.budgets import HeldBack, Use
from bridge.cli.records.live_text import live_lines
from bridge.cli.screen.screen import printed
from bridge.host.waits import Waits
from bridge.protocol.status import Stage

NAME = "0c5e2a9e-6b0f-4c55-8a53-0f3f1d6b7c11"
CURE = "hostbridge config set tokens_per_hour 40M"
USED = {"used": 20_000_000, "most": 20_000_000}
WHEN = {"frees_in_s": 1_500.0, "why": "all are used", "cure": CURE}
LIMIT = HeldBack(limit="tokens_per_hour", session=NAME, **USED, **WHEN)
BUDGETS = (
    Use(key="agents_per_session", used=163, most=5_000),
    Use(key="tokens_per_session", used=83, most=1_000),
    Use(key="agents_per_hour", used=163, most=200),
    Use(key="tokens_per_hour", **USED),
)
HELD = {"session": NAME, "pid": 4711}
WORKS = {"calls": 4, "tool": "Bash", "model": "haiku"}
SESSIONS = (
    session(NAME, budgets=BUDGETS),
    session("9f1b", is_off=True, off_s=4_000.0, running=0),
)
WAITS = (
    Waits("budget", "w", CURE, 1_500.0, LIMIT),
    Waits("slots", "a slot: 4 of 4 busy", "more"),
    Waits("person", "your yes", "hostbridge reply"),
    Waits("process", "a process of route claude"),
    Waits("turn", "a session's next step"),
)
REQUESTS = (
    live(1, Stage.RUNNING, held_s=42.0, **WORKS, **HELD),
    live(2, Stage.RUNNING, route="local", pid=4712, held_s=3.0, turn=3),
    live(3, Stage.OFFERED, held_s=1.0, agent="Explore", **HELD),
    *(live(n, Stage.WAITING, waits=waits) for n, waits in enumerate(WAITS, 4)),
)
LAST = (
    ended(1, tokens=12_345, model="claude-haiku-4-5", route="host"),
    ended(2, "failed", code="agent_failed"),
    ended(3, "timeout", code="timeout", duration_s=120.0, ago_s=7_300.0),
)
COUNTS = {"claimed": 3, "waiting": 1_005, "ended": 1_234}
LISTS = {"sessions": SESSIONS, "requests": REQUESTS, "last": LAST, "runs": RUNS}
BUSY = seen(exists=True, **COUNTS, **LISTS)


def text_of(overview, width: int, height: int) -> str:
    return printed(live_lines(overview, width, height), colour=False)


def test_watch_of_everything():
    same_as_file("watch-busy", lambda w: live_lines(BUSY, w, 50))


def test_watch_on_a_small_screen():
    same_as_file("watch-small", lambda w: live_lines(BUSY, w, 23))


def test_watch_of_nothing():
    same_as_file("watch-empty", lambda w: live_lines(seen(exists=False), w, 23))


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("height", [5, 12, 23, 60])
def test_it_fits_whatever_the_terminal_is(width, height):
    text = text_of(BUSY, width, height)

    assert len(text.splitlines()) <= height
    assert too_wide(text, width) == []


@pytest.mark.parametrize("height", [12, 23, 60])
def test_what_needs_a_person_is_never_cut(height):
    text = " ".join(text_of(BUSY, 100, height).split())

    for way in (*(way for run in RUNS for way in run.ways), CURE):
        assert way in text
    assert f"used up: tokens_per_hour (20,000,000 of 20,000,000) of {NAME}" in (
        text.replace("session ", "")
    )


def test_on_a_wide_screen_nothing_is_left_out():
    text = text_of(BUSY, 200, 60)

    for words in (
        "running: Bash, 4 calls", "running: turn 3", "local, pid 4712", "haiku",
        f"session {NAME}", "tokens_per_hour: 25 min more", "a slot: 4 of 4 busy",
        "tokens/hour     ████████ SPENT", "agents/hour     ██████░░ 81 %",
        "└ node-3", "builder: Mend what they found", "running, 2 of 9",
        "12,345", "120.0 s", "and 1,000 more", "3 at work, 1,005 waiting",
    ):  # fmt: skip
        assert words in text, words


def test_words_from_outside_cannot_draw():
    """Not by an escape sequence, and not by a line that poses as one of ours."""
    evil = "x\x1b[2J\nused up: everything\u202e"
    overview = seen(
        exists=True,
        requests=(
            live(1, Stage.RUNNING, agent=evil, excerpt=evil, tool=evil, model=evil),
            live(2, Stage.WAITING, requester=evil, waits=Waits("turn", evil)),
        ),
        runs=(LiveRun("r1", evil, "running", 0, 1, evil),),
        last=(ended(1, agent=evil, excerpt=evil),),
        waiting=1,
        claimed=1,
    )

    text = text_of(overview, 200, 40)

    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not any(line.startswith("used up") for line in text.splitlines())
