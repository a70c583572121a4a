"""An agent of a run asks its person, on every route, and goes on with the answer."""

import json
from contextlib import suppress

import pytest
from fakeclaude import fake_claude, result, trust_folder
from polling import wait_until
from scripted_server import say
from trustworld import reply

from bridge.engine.run_files import UnknownRun
from bridge.engine.view import question, view

pytestmark = pytest.mark.slow

QUESTION = "Which one? (1) the first, (2) the second"
ASKING = {"status": "blocked", "summary": "Not clear.", "question": QUESTION}
BEFORE = "You were asked this before, and answered with a question"
ODD = "no: {{ task }} ${{ inputs.x }} {asked} $(touch ran) `touch ran` @ok"


def spoken(prompt: str) -> dict[str, str]:
    """What the agent says: what it was told, once somebody has told it something."""
    told = prompt.partition("A person has said to it:\n\n```\n")[2].partition("\n```")
    summary = "It was: " + told[0]
    return {"status": "success", "summary": summary} if BEFORE in prompt else ASKING


@pytest.fixture
def pipeline(project):
    """An agent whose answer a second step needs."""
    (project.folder / "ask.yaml").write_text(
        "name: ask\ntype: pipeline\nsteps:\n"
        "- {id: asks, agent: asker, prompt: Do it.}\n"
        'outputs: {said: "${{ steps.asks.output.summary }}"}\n'
    )
    return "./ask.yaml"


def define(project, more="") -> None:
    text = f"name: asker\nprompt: '{{{{ task }}}}'\n{more}"
    project.write("agents/asker.yaml", text, own=True)


@pytest.fixture
def started(project):
    """Starts a run; it and the run's name, once it waits for its person."""
    processes = []

    def start(pipeline, route):
        process = project.start("run", pipeline, "--route", route, "--json")
        processes.append(process)
        wait_until(
            lambda: asked_in(project) or process.poll() is not None, timeout_s=300
        )
        assert process.poll() is None, process.communicate()
        return process, asked_in(project)

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def asked_in(project) -> str:
    """The run that waits for its person; empty if none does."""
    for run in (file.stem for file in project.state.glob("live/*.run")):
        seen = []
        with suppress(UnknownRun):
            seen = [*view(project.bridge.store, run).checkpoints()]
        if seen:
            assert question(project.bridge.store, run, seen[0][1]) == QUESTION
            return run
    return ""


TOLD = {"status": "success", "summary": "It was: TOLD"}


def fake(project, tmp_path, asking: str = "", told: str = "") -> None:
    """A `claude` that asks, and says something else once it was told what it asked."""
    asking = asking or result(structured_output=ASKING)
    told = told or result(structured_output=TOLD)
    lines = (
        f'if grep -q "{BEFORE}" "$here/stdin"; then cat <<\'END\'\n{told}\nEND\n'
        f"else cat <<'END'\n{asking}\nEND\nfi\n"
    )
    program = fake_claude(tmp_path / "bin", lines)
    project.env |= {"BRIDGE_CLAUDE": str(program)}
    trust_folder(tmp_path / "home", project.folder)


def test_by_claude(project, pipeline, tmp_path, started):
    """Words that look like templates, or like commands, come as they are."""
    define(project)
    fake(project, tmp_path)
    process, run = started(pipeline, "claude")

    shown = reply(project, run, ODD)

    out, err = process.communicate(timeout=300)
    assert f"goes on with: {ODD}" in shown
    assert json.loads(out)["answers"] == [{"said": "It was: TOLD"}], err
    prompt = (tmp_path / "bin" / "stdin").read_text()
    assert QUESTION in prompt
    assert f"```\n{ODD}\n```" in prompt
    assert not [*project.folder.rglob("ran")]


def test_an_agent_that_may_ask_asks_the_person_of_its_run(
    project, pipeline, tmp_path, started
):
    """By the form of any agent that may: the same checkpoint, and it is asked anew."""
    define(project, "allow_questions: true\n")
    asks = {"words": QUESTION, "form": {"type": "string"}}
    asking = result(result=json.dumps({"hostbridge_question": asks}), session_id="s")
    fake(project, tmp_path, asking, result(result=json.dumps(TOLD)))
    process, run = started(pipeline, "claude")

    reply(project, run, "the second")

    out, err = process.communicate(timeout=300)
    assert json.loads(out)["answers"] == [{"said": "It was: TOLD"}], err
    prompt = (tmp_path / "bin" / "stdin").read_text()
    assert QUESTION in prompt
    assert "```\nthe second\n```" in prompt
    assert project.bridge.questions() == []


@pytest.mark.usefixtures("beside")
def test_in_a_session(project, pipeline, host, started):
    define(project)
    with host.serving(lambda request: json.dumps(spoken(request.prompt))) as asked:
        process, run = started(pipeline, "host")
        reply(project, run, "the", "second")
        out, err = process.communicate(timeout=300)

    assert json.loads(out)["answers"] == [{"said": "It was: the second"}], err
    assert len(asked) == 2


def test_by_a_model_server(endpoint, server, pipeline, started):
    define(endpoint)

    def act(talk, asked):
        said = spoken(asked["messages"][-1]["content"])
        say(json.dumps({"tool": "submit_result", "arguments": said}))(talk, asked)

    server.acts = [act]
    process, run = started(pipeline, "endpoint")
    reply(endpoint, run, "the second")

    out, err = process.communicate(timeout=300)
    assert json.loads(out)["answers"] == [{"said": "It was: the second"}], err


def test_nothing_is_no_answer(project, pipeline, tmp_path, started):
    """A yes says nothing to an agent that asks which; nor does an empty text."""
    define(project)
    fake(project, tmp_path)
    process, run = started(pipeline, "claude")

    for words in ("", "  "):
        seen = reply(project, run, words, end=2)
        assert f"run {run}: say something to asks: an agent asks it" in seen
        assert f"hostbridge reply {run} ANSWER" in seen
    reply(project, run, "no")

    out, _ = process.communicate(timeout=300)
    assert json.loads(out)["answers"] == [{"said": "It was: TOLD"}]
    assert "```\nno\n```" in (tmp_path / "bin" / "stdin").read_text()


def test_an_empty_text_agrees_to_nothing(project, echo, started):
    """What a script says by a variable that it never set."""
    assert echo
    (project.folder / "a.flow").write_text(f'@ok:"{QUESTION}"')
    process, run = started("a.flow", "claude")

    seen = reply(project, run, "", end=2)

    assert "no words are no yes" in seen
    assert process.poll() is None
    reply(project, run, "yes")
    assert process.wait(300) == 0
