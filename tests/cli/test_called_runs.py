"""What a person does with a flow that was called, by the run that called it."""

import pytest
from engine.flowworld import World
from engine.test_called_flows import calling
from fakeclaude import fake_claude, printing, repeating_claude

from bridge.cli.asking.checkpoint_reply import reply_to_run
from bridge.cli.running.which_run import step_of
from bridge.engine.view import view
from bridge.errors import InvalidRequest

pytestmark = pytest.mark.slow

G = "general-purpose"


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_its_checkpoint_is_answered_once(world):
    run = world.begin(calling('@ok:"Is {{what}} fine?"'))

    reply_to_run(world, run, "", "go ahead")

    said = "answered before, by `hostbridge reply`: go ahead"
    with pytest.raises(InvalidRequest, match=said):
        reply_to_run(world, run, "", "no")


def test_its_steps_have_names(world):
    seen = view(world.store, world.begin(calling('@ok:"Is {{what}} fine?"')))

    ((child, node, _),) = seen.checkpoints()

    assert step_of(seen, "node-0/@ok") == (child, node)
    assert step_of(seen, "node-1") == (seen.run["run"], "node-1")
    with pytest.raises(InvalidRequest, match="step 'node-1' has called no flow"):
        step_of(seen, "node-1/node-0")


def test_it_goes_on_from_one_of_its_steps(project, tmp_path):
    claude = repeating_claude(project, tmp_path)
    words = claude.read_text()
    (project.folder / "inner.flow").write_text(f'{G}:"a" -> {G}:"b"')
    (project.folder / "top.flow").write_text("@call:inner")
    fake_claude(claude.parent, printing("no", code=3))
    project.run("run", "top.flow", "--route", "claude")
    claude.write_text(words)

    (run,) = (file.name for file in project.state.glob("runs/r*"))

    shown = project.run("runs", "jump", run, "node-0/node-1").out

    assert "node-0/node-0\tskipped\t" in shown
    assert f"\n{run}\trunning\t" in project.run("runs").out
