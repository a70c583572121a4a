"""Which read set counts: one that we wrote, to this question, in this project."""

import json
import os
from typing import Any

import pytest
from cachedworld import READS, files_in

from bridge.freshness.reads import Reads

pytestmark = pytest.mark.slow


@pytest.fixture
def kept(world):
    """The file that says what an answer rests on."""
    world.write("src/a.py")
    world.answer(READS)
    (file,) = files_in(world, "reads")
    return file


def test_a_read_set_that_somebody_else_wrote_does_not_count(world, kept):
    """It could make any answer hold for ever."""
    data = json.loads(kept.read_text())
    kept.write_text(json.dumps(data | {"files": {}}))

    assert world.reasons() == []
    assert world.is_asked_again(READS)


def test_the_read_set_of_one_question_does_not_stand_for_another(world, kept):
    world.ask(READS, prompt="Look well.", cached=False)
    (other,) = set(files_in(world, "reads")) - {kept}

    other.write_bytes(kept.read_bytes())

    assert world.is_asked_again(READS, prompt="Look well.")


def test_a_response_that_somebody_else_wrote_is_not_reused(world):
    world.write("src/a.py")
    first = world.answer(READS)
    file = world.bridge.store.place.state / "responses" / f"{first.request_id}.json"
    file.write_text(file.read_text().replace("done", "gone"))

    assert world.is_asked_again(READS)


@pytest.mark.usefixtures("kept")
def test_an_answer_that_was_pruned_is_asked_again_and_its_read_set_goes(world):
    world.bridge.prune(older_than_days=0)

    assert files_in(world, "reads") == []
    assert world.is_asked_again(READS)


def test_a_read_set_of_another_project_does_not_count(world, kept):
    """Copied with its folder, from a state that has another key."""
    before = kept.read_bytes()
    key = world.bridge.store.place.state / "key"
    key.unlink()
    key.write_bytes(b"k" * 32)

    assert world.reasons() == []
    assert world.is_asked_again(READS)
    (file,) = files_in(world, "reads")
    file.write_bytes(before)
    assert world.is_asked_again(READS)


def test_a_read_set_that_is_a_link_or_a_pipe_is_not_followed(world, kept, tmp_path):
    kept.rename(tmp_path / "moved.json")
    kept.symlink_to(tmp_path / "moved.json")
    assert world.is_asked_again(READS)

    kept.unlink()
    os.mkfifo(kept)

    assert world.is_asked_again(READS)


def test_a_read_set_of_an_earlier_hostbridge_asks_again(world, monkeypatch):
    """It does not say which model answered."""
    write = Reads.to_data

    def as_before(reads: Reads) -> dict[str, Any]:
        return {k: v for k, v in write(reads).items() if k != "model"}

    world.write("src/a.py")
    monkeypatch.setattr(Reads, "to_data", as_before)
    world.answer(READS)
    monkeypatch.undo()

    assert world.reasons() == ["model: which model gave it is not known"]
