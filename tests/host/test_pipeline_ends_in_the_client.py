"""Deadlines of pipelines, and kills of the client, in the real client."""

import json
import threading
from pathlib import Path

import pytest
from dialogs import answer
from engine.pipeworld import agent, approval, pipeline, program, tool
from flowruns import begun, now, wait_for_end
from host.test_checkpoints_in_the_client import asking
from hostworld import host_world
from polling import wait_until

from bridge.engine import run_files
from bridge.engine.run_files import folder_of
from bridge.tasks.tasks import Tasks
from bridge.testing.stage.models import launching, obedient_model
from bridge.testing.stage.replies import reply

pytestmark = pytest.mark.host

G = "general-purpose"
ENDS = {
    None: ("failed", "ask: nobody said yes in time", []),
    "skip": ("completed", "", ["shipped: failed"]),
}
AFTER = tool("create_task", {"title": "shipped: ${{ steps.ask.status }}"})


def late(on_failure):
    more = {"on_failure": on_failure} if on_failure else {}
    return pipeline(ask=approval("Ship it?", deadline_s=3600, **more), after=AFTER)


def be_late(world, run):
    """The time of its question is over now; nobody has looked since."""
    with world.store.state() as state, folder_of(state, run) as folder, state.hold():
        known = run_files.read(folder, run, state.key())
        (entry,) = known["nodes"].values()
        entry["deadline"] = world.store.now_ms()
        run_files.write(folder, known, state.key())


def ended(world, run):
    run = now(world, run).run
    titles = [task.title for task in Tasks(world.store).list()]
    return run["status"], run["why"], titles


@pytest.mark.parametrize(
    "on_failure", [None, pytest.param("skip", marks=pytest.mark.full)]
)
def test_a_question_on_the_screen_of_an_idle_session_is_answered_too_late(
    tmp_path, on_failure
):
    """Nothing has happened since: what the person says then is no yes."""
    with (
        host_world(tmp_path, obedient_model(main=asking)) as world,
        world.terminal() as terminal,
    ):
        run = begun(world, late(on_failure))
        terminal.wait_for_text("Ship it?")
        be_late(world, run)
        answer(terminal, r"Ship it\?", "Enter")
        wait_until(lambda: ended(world, run)[0] != "running", what="the end")

        assert ended(world, run) == ENDS[on_failure]


def test_a_client_that_is_killed_in_a_run_and_a_new_one_do_nothing_twice(tmp_path):
    """It dies while an agent works, and its program before that is done."""
    revived = threading.Event()

    def report(prompt, _request):
        done = {"status": "success", "summary": prompt.splitlines()[0]}
        return reply(json.dumps(done), delay_s=0 if revived.is_set() else 600)

    plan = pipeline(
        one=program("sh", "-c", "echo x >> one"),
        task=tool("create_task", {"title": "made"}),
        work=agent(G, "work"),
        two=program("sh", "-c", "echo x >> two"),
        last=tool("create_task", {"title": "after ${{ steps.work.output.summary }}"}),
    )
    model = obedient_model(report, main=launching(again=True))
    with host_world(tmp_path, model) as world:
        with world.stream() as session:
            run = begun(world, plan)
            wait_until(lambda: world.api.turns("subagent"), what="the agent")
            (dead,) = world.live()
            session.kill()
        revived.set()
        args = ["--resume", dead.session_id]
        with world.stream(args=args, greet=False) as resumed:
            resumed.send("and now?")
            wait_for_end(world, run)

        project = Path(world.store.place.project)
        ran = [(project / name).read_text() for name in ("one", "two")]
        assert ran == ["x\n", "x\n"]
        assert ended(world, run)[2] == ["made", "after work"]
        assert now(world, run).run["asked"] == 1


def test_a_program_outlives_the_client_that_is_killed(tmp_path):
    """And its run goes on with it, though no session is open."""
    wait = "echo x >> one; while [ ! -e go ]; do sleep 0.05; done"
    plan = pipeline(
        one=program("sh", "-c", wait), last=tool("create_task", {"title": "made"})
    )
    with host_world(tmp_path) as world:
        project = Path(world.store.place.project)
        with world.stream() as session:
            run = begun(world, plan)
            wait_until((project / "one").exists, what="the program")
            session.kill()
        (project / "go").touch()
        wait_for_end(world, run)

        assert (project / "one").read_text() == "x\n"
        assert ended(world, run)[2] == ["made"]
