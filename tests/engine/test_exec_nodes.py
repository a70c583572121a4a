"""Programs of a pipeline: granted, in their folder, limited, done once."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from aheadclock import AheadClock
from engine.pipeworld import pipeline, program, tool
from polling import wait_until

from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.long_steps import claim
from bridge.engine.run_files import folder_of
from bridge.testing.stage.processes import is_alive
from bridge.worker.long_work import LongWork, do_step

NOTE = "import sys,os; open('ran','a').write('x'); print(os.getcwd(), *sys.argv[1:])"


def python(text: str, *more: str, **how):
    return program(sys.executable, "-c", text, *more, **how)


def test_a_program_gets_its_arguments_as_data_and_gives_its_output(world):
    plan = pipeline(
        only=python(NOTE, "${{ inputs.x }}", "${{ inputs.n }}"),
        after=tool("set", "${{ steps.only.output.stdout }}"),
        _inputs={"x": {}, "n": {"default": 3}},
    )
    run = world.begin(plan, params={"x": "$(touch bad); ${{ inputs.n }}"})
    assert world.states(run) == {"only": "open"}

    assert world.do_all(run)["status"] == "completed"

    project = os.path.realpath(world.store.place.project)
    said = f"{project} $(touch bad); ${{{{ inputs.n }}}} 3\n"
    assert world.output(run, "after") == said
    found = world.output(run, "only")
    assert (found["exit_code"], found["stderr"], found["timed_out"]) == (0, "", False)
    assert Path(found["log"]).read_text() == said
    assert Path(project, "ran").read_text() == "x"


def test_a_program_that_fails_fails_its_step_and_its_output_is_kept(world):
    text = "import sys; print('out'); print('why', file=sys.stderr); sys.exit(3)"
    after = tool("set", "${{ steps.only.output.exit_code }}")
    run = world.begin(pipeline(only=python(text, on_failure="skip"), after=after))
    ended = world.do_all(run)

    assert ended["nodes"]["only"]["why"] == "exit code 3: why"
    assert world.output(run, "after") == 3


def test_what_no_rule_grants_does_not_run(world):
    run = world.begin(pipeline(only=program("pytest", "-p", "x", allow=["Bash(ls *)"])))

    why = world.do_all(run)["why"]

    assert why.startswith("only: 'pytest -p x' is not granted; granted: `ls *`")
    assert "`allow`" in why


@pytest.mark.parametrize("cwd", ["..", "/", "link", "gone"])
def test_a_program_runs_in_the_project_or_a_worktree_of_the_run(world, cwd):
    (Path(world.store.place.project) / "link").symlink_to("/")
    run = world.begin(pipeline(only=program("ls", cwd=cwd)))

    assert "only: `cwd`" in world.do_all(run)["why"]


def test_a_program_runs_in_a_worktree_of_the_run(world):
    worktrees = world.store.place.state / "worktrees"
    cwd = f"{worktrees}/${{{{ run.id }}}}/one"
    run = world.begin(pipeline(only=python(NOTE, cwd=cwd)))
    (worktrees / run / "one").mkdir(parents=True)

    assert world.do_all(run)["status"] == "completed"
    assert (worktrees / run / "one" / "ran").exists()


def test_the_environment_is_clean_but_for_what_the_pipeline_says(world, monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("BRIDGE_OPENAI_API_KEY", "secret")
    text = "import os; print(*map(os.environ.get, os.sys.argv[1:]))"
    names = ("CLAUDECODE", "BRIDGE_OPENAI_API_KEY", "MINE")
    run = world.begin(pipeline(only=python(text, *names, env={"MINE": 7})))
    world.do_all(run)

    assert world.output(run, "only")["stdout"] == "None None 7\n"


def test_output_is_bounded(world):
    run = world.begin(pipeline(only=python("print('ab' * 1_000_000)")))
    world.do_all(run)

    found = world.output(run, "only")
    assert len(found["stdout"]) < 70_000
    assert "bytes left out" in found["stdout"]
    assert Path(found["log"]).stat().st_size == 2_000_001


def test_a_program_ends_at_its_time_with_all_that_it_started(
    world, tmp_path, monkeypatch
):
    """Its time passes when it has started what it does."""
    text = (
        "import os,subprocess,time; p=subprocess.Popen(['sleep','1000']);"
        f"open({str(tmp_path / 'new')!r},'w').write(str(p.pid));"
        f"os.rename({str(tmp_path / 'new')!r},{str(tmp_path / 'pid')!r});"
        "time.sleep(1000)"
    )
    clock = AheadClock()
    monkeypatch.setattr("bridge.process.run.time", clock)

    def put_forward() -> None:
        wait_until((tmp_path / "pid").exists)
        clock.ahead_s = 3600

    run = world.begin(pipeline(only=python(text, timeout_s=900.5)))
    other = threading.Thread(target=put_forward)
    other.start()

    assert world.do_all(run)["why"] == "only: it had not ended after 900.5 s"
    other.join()
    assert world.run(run)["status"] == "failed"
    wait_until(lambda: not is_alive(int((tmp_path / "pid").read_text())))


def test_who_cancels_a_run_ends_its_program(world, tmp_path):
    text = f"import time; open({str(tmp_path / 'on')!r},'w'); time.sleep(1000)"
    run = world.begin(pipeline(only=python(text)))
    long = [*world.long]
    with LongWork(world.store, world.settings) as work:
        work.take(long)
        wait_until((tmp_path / "on").exists)
        assert work.is_busy
        world.advance(run)
        assert not world.long, "somebody does it"
        world.advance(run, by_hand.cancel)
        wait_until(lambda: work.wait(0.5))

    assert world.run(run)["status"] == "cancelled"


def test_a_program_of_a_killed_process_is_run_by_the_next_who_looks(world):
    run = world.begin(pipeline(only=python("import time; time.sleep(1000)")))
    (step,) = world.long
    script = (
        "import sys, json; from bridge.worker.long_work import do_step;"
        "from bridge.store.store import Store; from bridge.store.location import Place;"
        "from bridge.config import Settings; from bridge.engine.long_steps import *;"
        "s=Store(Place.of_words(json.loads(sys.argv[1])));"
        "do_step(s, Settings.from_environment(), LongStep(*sys.argv[2:]))"
    )

    words = json.dumps(world.store.place.words())
    doing = subprocess.Popen([sys.executable, "-c", script, words, *step])
    wait_until(lambda: world.advance(run) and not world.long)
    doing.send_signal(signal.SIGKILL)
    doing.wait()

    world.advance(run)

    assert world.long == [step]


def test_a_step_that_is_done_is_not_done_again(world):
    run = world.begin(pipeline(one=python(NOTE), two=python("print()")))
    (step,) = world.long
    assert do_step(world.store, world.settings, step)
    assert not do_step(world.store, world.settings, step)
    with world.store.state() as state, folder_of(state, run) as folder:
        with claim(folder, step.asked):
            assert not do_step(world.store, world.settings, step)

    world.do_all(run)

    assert (Path(world.store.place.project) / "ran").read_text() == "x"


def test_a_result_that_somebody_else_wrote_is_none(world):
    run = world.begin(pipeline(only=python(NOTE)))
    (step,) = world.long
    folder = world.store.place.state / "runs" / run / "results"
    folder.mkdir(exist_ok=True)
    (folder / f"{step.asked}.json").write_text('{"how":"ok","why":"","output":1}')

    assert (world.advance(run)["status"], world.long) == ("running", [step])


def test_in_a_session_a_process_of_its_own_does_it(world):
    """Whoever advances starts it, and does not wait."""
    run = world.begin(pipeline(only=python(NOTE), after=tool("set", 1)))

    advance(world.store, world.settings, run)

    wait_until(lambda: world.run(run)["status"] == "completed")
    assert world.output(run, "after") == 1
    assert (Path(world.store.place.project) / "ran").read_text() == "x"


GIVEN = "${{ inputs.x }}"
ANSWERS = [
    ((GIVEN,), "Bash(echo *)", False),
    ((GIVEN,), "Bash", False),
    ((GIVEN + GIVEN,), "Bash(echo *)", False),
    (("-n", GIVEN), "Bash(echo *)", False),
    (("--", GIVEN), "Bash(echo *)", True),
    ((f"-n={GIVEN}",), "Bash(echo *)", True),
    (("-x=y",), "Bash(echo *)", True),
    ((GIVEN,), "Bash(echo [-x=*])", True),
    ((GIVEN,), "Bash(echo [-y=*])", False),
]


@pytest.mark.parametrize(("argv", "allow", "runs"), ANSWERS, ids=str)
def test_an_answer_becomes_no_option_that_nobody_named(world, argv, allow, runs):
    """`git log *` would write any file, were an answer `--output=FILE`."""
    plan = pipeline(only=program("echo", *argv, allow=[allow]), _inputs={"x": {}})

    ended = world.do_all(world.begin(plan, params={"x": "-x=y"}))

    assert (ended["status"] == "completed") is runs, ended["why"]
    if allow in ("Bash", "Bash(echo *)") and not runs:
        assert "comes from an answer, and would be an option" in ended["why"]


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "GIT_TRACE", "BRIDGE_HOME"])
def test_error_a_variable_that_makes_it_another_program(world, name):
    echo = program("echo", "x", env={name: "."}, allow=["Bash(echo *)"])
    run = world.begin(pipeline(only=echo))

    assert f"`env` sets {name}, which can make" in world.do_all(run)["why"]


def test_a_program_of_the_project_does_not_stand_for_one_of_the_users(world):
    """An archive may bring a file of any name; it is not on the path."""
    file = Path(world.store.place.project) / "true"
    file.write_text("#!/bin/sh\ntouch ran\n")
    file.chmod(0o755)
    run = world.begin(pipeline(only=program("true", allow=["Bash(true)"])))

    assert world.do_all(run)["status"] == "completed"
    assert not (Path(world.store.place.project) / "ran").exists()
