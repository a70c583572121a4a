"""`hostbridge run`, `runs` and `approve RUN`, as a person uses them."""

import json
import os
import sys

import pytest
from fakeclaude import fake_claude, printing, result
from polling import wait_until
from sessionworld import in_a_session
from trustworld import reply

pytestmark = pytest.mark.slow

G = "general-purpose"


def run_of(project):
    """The id of the only run."""
    (run,) = (file.name for file in project.state.glob("runs/r*"))
    return run


@pytest.mark.usefixtures("echo")
def test_a_flow_runs_and_prints_what_came_of_it(project):
    name = project.flow(f'{G}:"Look at {{{{what}}}}":x -> {G}:"Sum {{x}}"')

    ran = project.run("run", name, "--param", "what=src", "--route", "claude")

    assert (ran.code, ran.out) == (0, "<Sum <Look at src>>\n")


def test_a_run_says_which_of_its_files_have_changed(project, echo):
    inner = project.flow(f'{G}:"in"', "inner.flow")
    name = project.flow(f'\ufeff@call:inner ->\r\n{G}:"a"')
    good = echo.read_text()
    echo.write_text("#!/bin/sh\nexit 1\n")
    ran = project.run("run", name, "--route", "claude")
    run = ran.err.split("run --resume ")[1].split()[0]
    assert "has changed" not in project.run("runs", "show", run).out

    project.flow("Plan", name)
    (project.folder / inner).unlink()

    line = "{} has changed since; the run goes on with what it began with"
    assert line.format(project.folder / name) in project.run("runs", "show", run).out
    said = json.loads(project.run("runs", "show", run, "--json").out)
    assert said["changed"] == [str(project.folder / each) for each in (name, inner)]
    project.flow("Explore", "inner.flow")
    echo.write_text(good)
    again = project.run("run", "--resume", run)
    assert (again.code, again.out) == (0, "<a>\n")
    for each in (name, inner):
        assert line.format(project.folder / each) in again.err


def test_a_failed_run_says_why_and_goes_on_with_resume(project, echo):
    name = project.flow(f'{G}:"a":x -> {G}:"b {{x}}"')
    fake_claude(echo.parent, printing("no", code=3))

    ran = project.run("run", name, "--route", "claude")
    ran.refuses(1, " failed: node-0: agent_error: ")
    run = ran.err.split("run --resume ")[1].split()[0]

    told = {"status": "success", "summary": "fine"}
    fake_claude(echo.parent, printing(result(structured_output=told)))
    again = project.run("run", "--resume", run)
    assert (again.code, again.out) == (0, "fine\n")

    log = project.state / "runs" / f"{run}-node-0-1-1.jsonl"
    log.write_text("as a model in this process leaves it")
    assert "node-0\tok (attempt 2)\t" in project.run("runs", "show").out
    said = json.loads(project.run("runs", "show", run, "--json").out)
    assert said["variables"] == {"x": "fine"}
    listed = project.run("runs").out.splitlines()
    assert listed[1].startswith(f"{run}\tcompleted\t3 asked\t")


@pytest.mark.usefixtures("echo")
def test_a_run_that_used_up_a_bound_says_what_it_needs_to_go_on(project):
    name = project.flow(f'{G}:"a" -> {G}:"b"')

    ran = project.run("run", name, "--route", "claude", "--max-agents", "1")

    assert ran.code == 1
    assert ran.err.endswith(" --max-agents MORE\n")
    waiting = project.run("status").out
    assert " --max-agents MORE" in waiting
    assert "1 of 2" in waiting


def test_without_a_terminal_each_step_is_a_line_when_it_has_ended(project, echo):
    project.flow(f'{G}:"inner"', "other.flow")
    name = project.flow(f'{G}:"a":x -> @call:other -> {G}:"b {{x}}"')

    ran = project.run("run", name, "--route", "claude")

    told = [line.partition(" after ")[0] for line in ran.err.splitlines()]
    assert told == [
        f"hostbridge: node-{step} ok" for step in ("0", "1/node-0", "1", "2")
    ]
    assert "s: general-purpose: a -> x\n" in ran.err
    assert not project.run("run", name, "--route", "claude", "--json").err

    fake_claude(echo.parent, printing("no", code=3))
    failed = project.run("run", name, "--route", "claude").err
    assert failed.startswith("hostbridge: node-0 failed after ")


WRONG = {
    "run ./asks.flow": "parameter 'what' is missing; give it with --param NAME=VALUE",
    "run ./a.flow --param y=1": "parameter is called 'y'; it has none\n",
    "run nothing": "no flow or workflow is named 'nothing'; there is none in flows/",
    "run both": "no flow or workflow is named 'both'; did you mean ./both.yaml?",
    "run": "run needs a flow, a pipeline, or --resume RUN",
    "run ./a.flow": "`hostbridge install` first",
    "runs show r1": "there is no run 'r1'",
    "runs show": "nothing was run here",
    "runs": "nothing was run here; see `hostbridge run --help`\n",
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_words_say_what_is_right(project, words):
    project.flow(f'{G}:"{{{{what}}}}"', "asks.flow")
    project.flow(f'{G}:"a"')
    for name in ("both.flow", "both.yaml"):
        project.flow(f'{G}:"a"', name)

    ran = project.run(*words.split())

    assert WRONG[words] in ran.out + ran.err
    assert "hostbridge submit" not in ran.err


SAYS = 'allow: ["Bash(echo *)"]\nsteps: [{id: say, exec: [echo, %s]}]\n'


@pytest.mark.parametrize("who", ["session", "agent"])
def test_a_model_runs_no_workflow_by_its_path(project, who):
    """Its user may have granted `hostbridge run`, and it writes what that starts."""
    project.write("nightly.yaml", SAYS % "here")
    if who == "session":
        in_a_session(project)
    else:
        project.env["BRIDGE_PARENT"] = "r1"

    ran = project.run("run", "./nightly.yaml")

    ran.refuses(1, "run `hostbridge run ./nightly.yaml` in a terminal of your own")


def test_a_name_that_no_library_has_runs_nothing_that_lies_here(project):
    """A stranger may have sent it: whoever wants it names the file."""
    project.write("nightly.yaml", SAYS % "here")

    ran = project.run("run", "nightly")

    ran.refuses(2, "is named 'nightly'; did you mean ./nightly.yaml?")


@pytest.fixture
def begun(project, echo):
    """Begins a run, which waits at its checkpoint."""
    assert echo
    processes = []

    def begin(text):
        words = ("run", project.flow(text), "--route", "claude")
        processes.append(project.start(*words))
        while not (runs := list(project.state.glob("live/*.run"))):
            pass
        return runs[0].stem, processes[0]

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def waiting(project, begun):
    """A run that waits at its checkpoint."""
    run, process = begun(f'@ok:"Fine?":word -> {G}:"They said {{word}}"')
    wait_until(lambda: f"hostbridge reply {run}" in project.run("status").out)
    return run, process


def test_status_lists_the_runs_that_live(project, waiting):
    """And what their user can type; a broken one does not hide the others."""
    run, _ = waiting
    (project.state / "live" / "rbroken.run").touch()

    said = project.run("status").out

    assert (
        "\n\nRUN\tSTEPS\tNAME\tWAITS FOR\n"
        f"{run}\t0 of 2\ta\tyou\nwaits for you: hostbridge reply {run}\n\n"
    ) in said


def test_another_terminal_answers_a_checkpoint(project, waiting):
    run, process = waiting
    # Without a terminal one line says what it waits for, once.
    way = f"node-0 waits for you: hostbridge reply {run} ANSWER"
    said = b""
    while not said.endswith(b"Fine?\n"):
        said += os.read(process.stderr.fileno(), 1000)
    assert said.decode() == f"hostbridge: {way}\n    Fine?\n"

    assert f"run {run} goes on with: go ahead" in reply(project, run, "go ahead")

    out, err = process.communicate(timeout=300)
    assert out.decode() == "<They said go ahead>\n"
    assert "waits for you" not in err.decode()


def test_what_is_neither_yes_nor_no_changes_nothing(project, waiting):
    """Not even "nein" agrees; the run waits as before."""
    run, _ = waiting

    told = reply(project, run, "nein", end=2)

    assert " ".join(told.split()) == (
        "hostbridge: 'nein' is neither yes nor no, and node-0 waits for one: say yes, "
        "`yes, but …`, or no; a plain yes goes on; more words begin with `but`, and "
        "have no not, if or wait"
    )
    assert f"run {run} goes on with: yes" in reply(project, run, "yes")


def test_whoever_refuses_reads_what_that_did(project, waiting):
    run, _ = waiting

    told = reply(project, run, "no")

    assert "goes on" not in told
    assert f"run {run} failed: node-0: a person said no" in told
    assert f"hostbridge run --resume {run}" in told


def test_the_question_is_shown_whole_with_its_run(project, begun):
    asks = "A long question. " * 200
    run, _ = begun(f'@ok:"{asks}"')

    shown = project.run("runs", "show", run).err

    assert f"hostbridge reply {run} ANSWER\n    {asks.strip()}" in shown


def test_whoever_answers_later_is_told_so(project, waiting):
    run, _ = waiting
    project.run("runs", "pause", run)
    reply(project, run, "go ahead")

    late = reply(project, run, "no", end=2).replace("\r\n  ", " ")

    assert "was answered before, by `hostbridge reply`: go ahead" in late


def test_a_session_may_not_answer_nor_go_on(project, waiting):
    run, _ = waiting
    project.run("runs", "pause", run)

    in_a_session(project)

    for words in (("reply", run), ("runs", "resume", run), ("run", "--resume", run)):
        assert "inside a Claude Code session" in project.run(*words).err
    code = f"from bridge import Bridge; Bridge.open().resume({run!r})"
    by_program = project.program(sys.executable, "-c", code)
    assert "inside a Claude Code session" in by_program.err


def test_a_session_may_resume_what_failed_but_not_raise_its_bounds(project, echo):
    name = project.flow(f'{G}:"a"')
    fake_claude(echo.parent, printing("no", code=3))
    project.run("run", name, "--route", "claude", "--max-agents", "3")
    run = run_of(project)

    in_a_session(project)

    resume = ("run", "--resume", run)
    for more in (["--max-agents", "1000"], ["--on-failure", "skip"]):
        refused = project.run(*resume, *more).err
        assert "inside a Claude Code session" in refused
    assert f"run {run} failed" in project.run(*resume).err


def test_without_an_agent_no_session_is_needed(project, tmp_path):
    file = tmp_path / "add.yaml"
    file.write_text(
        "steps: [{id: add, tool: create_task, arguments: {title: Round prices}}]"
    )

    assert project.run("run", str(file)).code == 0
    assert [task.title for task in project.bridge.tasks.list()] == ["Round prices"]

    project.run("off")
    assert project.run("run", str(file)).code == 4


def test_error_a_parameter_that_is_not_utf_8(project):
    """Wrong words are said though no session is open."""
    project.run("run", "coordinator", "--param", "session_task=\udcff").refuses(
        2, "--param session_task: expected UTF-8, got byte 0xff at offset 0"
    )


def test_a_step_is_shown_with_the_values_that_it_has(project):
    file = project.folder / "greet.yaml"
    file.write_text("""\
type: pipeline
inputs: {who: Ann}
steps:
  - {id: name, set: {whole: "Dear ${{ inputs.who }}"}}
  - {id: skip, condition: "${{ inputs.who == 'Bo' }}", set: {a: 1}}
  - {id: left, fail: "Hello ${{ steps.name.output.whole }}, ${{ steps.skip.output.a }}"}
""")
    graph = project.run("workflow", "graph", str(file)).out
    project.run("run", str(file))
    shown = project.run("runs", "show").out

    assert graph.splitlines()[1:] == [
        "skip  set a, if inputs.who == 'Bo'",
        "left  fail: Hello {steps.name.output.whole}, {steps.skip.output.a}",
    ]
    assert "fail: Hello Dear Ann, {steps.skip.output.a}" in shown
    assert "not so: inputs.who == 'Bo'" in shown
