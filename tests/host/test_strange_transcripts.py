"""Transcripts that are none, or of any size: no end is heard, and no time lost."""

import os

import pytest
from hookworld import GOOD
from transcriptrecords import missed, said, text, told, writes

from bridge.host import agent_usage, transcript, transcript_end, unseen_ends
from bridge.protocol.record import json_object


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """No other hook is about to handle an end."""
    monkeypatch.setattr(unseen_ends, "SETTLE_S", 0)


def fifo(path):
    path.unlink()
    os.mkfifo(path)


def link(path):
    os.rename(path, path.with_suffix(".else"))
    path.symlink_to(path.with_suffix(".else"))


def cut(path):
    os.truncate(path, path.stat().st_size - 5)


def binary(path):
    path.write_bytes(b"\xff\x00\n" * 5000)


def folder(path):
    path.unlink()
    path.mkdir()


def somebody_elses(path):
    os.chown(path, 12345, -1)


IS_ROOT = os.geteuid() == 0
HOSTILE = [fifo, link, cut, binary, folder, *[somebody_elses] * IS_ROOT]


@pytest.mark.parametrize("spoil", HOSTILE, ids=lambda spoil: spoil.__name__)
def test_error_a_transcript_that_is_none(world, spoil):
    """Only root can make one somebody else's."""
    request, agent = world.working(max_attempts=1)
    writes(world, agent, said(text(GOOD)))
    spoil(world.transcript(agent))

    world.say("Stop", background_tasks=[])

    assert world.code(request) == "agent_error"


def test_only_the_end_of_a_huge_transcript_is_read(world, monkeypatch):
    monkeypatch.setattr(transcript_end, "_MAX_BYTES", 4_000)
    noise = told("x" * 5_000, isMeta=True)

    request = missed(world, *[noise] * 3, said(text(GOOD)))

    assert world.response(request).raw_output == GOOD


@pytest.fixture
def parsed(monkeypatch):
    """The lengths of the lines of transcripts that are parsed."""
    lengths = []

    def noting(line):
        lengths.append(len(line))
        return json_object(line)

    for module in (transcript, transcript_end, agent_usage):
        monkeypatch.setattr(module, "json_object", noting)
    return lengths


def huge(kind):
    """A record that takes seconds and gigabytes to parse."""
    message = {"role": kind, "stop_reason": "end_turn", "content": [{}] * 2_000_000}
    return {"type": kind, "message": message | {"usage": {}, "tool_use": 1}}


@pytest.mark.parametrize("kind", ["assistant", "user", "attachment"])
def test_a_huge_line_in_a_transcript_is_not_parsed(world, parsed, kind):
    """It would hold up every event of the client."""
    request = missed(world, huge(kind), max_attempts=1)

    assert world.code(request) == "agent_error"
    assert max(parsed, default=0) < transcript.MAX_LINE


def test_a_huge_line_before_the_prompt_is_not_parsed(world, parsed):
    request, agent = world.working(max_attempts=1)
    file = world.transcript(agent)
    given = file.read_text()
    file.write_text("")
    writes(world, agent, huge("attachment"))
    with file.open("a") as more:
        more.write(given)
    writes(world, agent, said(text(GOOD)))

    world.say("Stop", background_tasks=[])

    assert world.response(request).raw_output == GOOD
    assert max(parsed, default=0) < transcript.MAX_LINE


def test_many_long_lines_are_not_all_parsed(world, parsed):
    """Each may be parsed; together they would take as long as one huge line."""
    long = {"type": "attachment", "x": "x" * (1 << 20)}

    request = missed(world, *[long] * 20, max_attempts=1)

    assert world.code(request) == "agent_error"
    assert sum(parsed) < 2 * transcript.MAX_LINE


def test_a_prompt_of_megabytes_is_recognized_in_a_transcript(world):
    """A line that is as long as our own prompt makes it is parsed."""
    request, _, agent = world.begin(prompt="\x01x" * 1_000_000)
    writes(world, agent, said(text(GOOD)))

    world.say("Stop", background_tasks=[])

    assert world.response(request).raw_output == GOOD
