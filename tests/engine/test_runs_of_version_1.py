"""Runs that an older version began, as they lie on disk: they go on."""

import json
from pathlib import Path

import pytest
from engine.flowworld import child_of

from bridge.engine.answers import Answers
from bridge.engine.run_files import read, write
from bridge.engine.view import question
from bridge.store import live_runs

RUNS = json.loads(
    (Path(__file__).parent / "samples/runs_of_version_1.json").read_text()
)


@pytest.fixture
def planted(world):
    """Puts a run there, with the seal of this state directory."""

    def plant(name):
        files = RUNS[name]
        run = json.loads(files["run.json"])
        with (
            world.store.state() as state,
            state[live_runs.RUNS].folder(run["run"]) as folder,
        ):
            place = Path(folder.path)
            for file, text in files.items():
                (place / file).parent.mkdir(exist_ok=True)
                (place / file).write_text(text)
            write(folder, run, state.key())
            live_runs.mark(state, run["run"])
            assert read(folder, run["run"], state.key()) == run
        return run["run"]

    return plant


def test_a_flow_asks_what_it_would_have_asked(world, planted):
    run = planted("flow")
    assert world.advance(run)["open"] == ["node-0"]
    assert world.waiting()["a"].prompt == "Look at src, all"

    world.answered(run, "a", "two faults", files=["x.py", "y.py"])
    assert question(world.store, run, "node-1") == "Mend x.py?"

    world.told(run, "yes")
    mending = world.waiting()["$own"]
    assert mending.prompt == "Mend for 3 what two faults says.\n\nNow two faults"

    world.answered(run, "$own", "all")
    assert world.waiting()["b"].prompt == 'Count all of ["x.py", "y.py"], or none'

    world.answered(child_of(world), "b", "2")
    seeing = world.waiting()["$still"]
    assert seeing.prompt == "See 2"

    world.answer("$still", "seen")
    assert world.advance(run)["status"] == "completed"


def test_a_pipeline_ends_with_its_outputs(world, planted):
    run = planted("pipeline")
    world.advance(run)
    world.answered(run, "a", "one")
    assert question(world.store, run, "ok") == "Is one 7?"

    world.told(run, "yes")
    world.answered(child_of(world), "b", "two")

    assert world.advance(run)["status"] == "completed"
    with world.store.state() as state:
        assert Answers(state, world.run(run)).of_run() == [{"said": "two", "n": 7}]
