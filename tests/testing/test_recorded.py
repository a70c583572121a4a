"""Recorded answers, copied from a state directory, played again."""

import os
import shutil
from pathlib import Path

import pytest
from polling import wait_until

from bridge import RequestFailed, ask
from bridge.testing import Unscripted, answer, answering, failure, replay

MODULES = {"type": "object", "required": ["modules"]}
ENDS = [
    answer({"modules": ["a"]}, degraded=True, after_s=2.5),
    answer({"modules": []}),
    failure("agent_error", message="529", after_s=1.0),
]


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """What `cp -r "$(hostbridge where)"/{done,responses} FOLDER` leaves."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "answers"
    with answering(ENDS):
        ask("Which?", schema=MODULES)
        ask("Which?", schema=MODULES)
        with pytest.raises(RequestFailed):
            ask("Which of them?", agent="Explore", schema=MODULES)
        state = Path(os.environ["BRIDGE_STATE_DIR"])
        # An answer is there before its request is put away.
        wait_until(lambda: len([*(state / "done").glob("*.json")]) == len(ENDS))
        for name in ("done", "responses"):
            shutil.copytree(state / name, folder / name)
    return folder


def test_each_question_gets_its_own_answers(recorded):
    """In their order, and the last one again; another question is none of these."""
    with answering(replay(recorded)):
        got = [ask("Which?", schema=MODULES) for _ in range(3)]
        with pytest.raises(RequestFailed, match="529") as caught:
            ask("Which of them?", agent="Explore", schema=MODULES)

    told = [(each.parsed, each.degraded, each.duration_s) for each in got]
    assert told == [
        ({"modules": ["a"]}, True, 2.5),
        ({"modules": []}, False, 0.0),
        ({"modules": []}, False, 0.0),
    ]
    assert caught.value.code == "agent_error"


def test_each_block_begins_anew(recorded):
    """One replay for a whole file of tests: none depends on those before it."""
    answers = replay(recorded)
    block = answering({"general-purpose": answers})

    for each in (answering(answers), block, block):
        with each:
            assert ask("Which?", schema=MODULES).parsed == {"modules": ["a"]}


def test_recordings_are_outcomes(recorded):
    """For `parametrize`, each by itself."""
    assert replay(recorded).outcomes == tuple(ENDS)


def test_a_recording_is_judged_by_the_schema_of_today(recorded):
    """The program has changed what it asks for, and its recordings have not."""
    today = {"type": "object", "required": ["modules", "why"]}

    with answering(replay(recorded)), pytest.raises(RequestFailed) as caught:
        ask("Which?", schema=today)

    assert caught.value.code == "schema_mismatch"


def test_error_no_recording_of_a_question(recorded):
    with (
        pytest.raises(Unscripted) as caught,
        answering(replay(recorded)),
        pytest.raises(RequestFailed),
    ):
        ask("Which one?")

    assert str(caught.value) == (
        f"general-purpose was asked 'Which one?', of which {recorded} has no "
        "recording; it has Explore: 'Which of them?'; general-purpose: 'Which?'"
    )


@pytest.mark.parametrize("how", ["empty", "link"])
def test_error_a_file_that_is_none(recorded, tmp_path, how):
    """A folder that came with a change may hold anything; no link is followed."""
    file = next((recorded / "responses").iterdir())
    if how == "link":
        file.symlink_to(file.rename(tmp_path / "elsewhere.json"))
    else:
        file.write_text("{}")

    with pytest.raises(ValueError, match=f"{file}: not a recording"):
        replay(recorded)


def test_error_no_recordings(tmp_path):
    with pytest.raises(ValueError, match="no recordings; expected done/"):
        replay(tmp_path)
