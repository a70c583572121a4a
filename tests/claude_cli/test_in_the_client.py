"""`ask --route claude`, whole, with the real client and a scripted model."""

import json
import sys

import pytest
from agentworld import trust_project
from claudeworld import SUCCESS, answered, ask, runs, submits, turns
from hostworld import host_world
from storeworld import folders_of

from bridge.testing.stage.replies import error, reply, tool_use

pytestmark = pytest.mark.host

END = reply("done")
MODULES = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["modules"],
    "properties": {"modules": {"type": "array", "items": {"type": "string"}}},
}


def test_its_tokens_are_charged_to_the_session_that_asks(tmp_path):
    """The client tells them by model, for the whole run."""

    def script(request):
        tools = [tool["name"] for tool in request.body.get("tools", ())]
        if "StructuredOutput" not in tools:
            return reply("ok")
        call = tool_use("StructuredOutput", SUCCESS)
        return reply(call, tokens_in=50, tokens_out=7)

    with host_world(tmp_path, script) as world, world.stream() as session:
        (mine,) = world.live()
        ran = ask(world, "?", env={"CLAUDE_PID": str(mine.host.pid)})
        (after,) = world.live()
        (charge,) = after.spending.charges.values()

    assert session
    assert answered(ran)["success"], ran
    assert charge.tokens is not None
    assert charge.tokens >= 57


def test_with_a_schema(tmp_path):
    """The value satisfies it, the model has a name, and only one client was asked.

    That client has a wrong value corrected.
    """
    model = turns(submits({"modules": 7}), submits({"modules": ["billing"]}), END)

    with host_world(tmp_path, model) as world:
        (world.stage.project / "modules.json").write_text(json.dumps(MODULES))
        ran = ask(world, "Which modules?", "--schema", "modules.json")
        (first, *_) = world.api.turns("main")

    answer = answered(ran)
    assert (ran.returncode, answer["success"], answer["route"]) == (0, True, "claude")
    assert answer["parsedOutput"] == {"modules": ["billing"]}
    assert (answer["model"], answer["degraded"]) == (first.model, False)
    assert first.last_user_text.strip() == "Which modules?"
    assert folders_of(world.store, answer["requestId"]) == ["done"]


@pytest.mark.parametrize(
    ("claimed", "code"), [("echo hi", None), ("pytest -q", "unverified")]
)
def test_without_a_schema_commands_count_as_seen(tmp_path, claimed, code):
    """Evidence rests on what the client says it ran."""
    item = {"type": "t", "content": "hi", "command": claimed, "passed": True}
    model = turns(runs("echo hi"), submits({**SUCCESS, "evidence": [item]}), END)

    with host_world(tmp_path, model) as world:
        ran = ask(world, "Say hi.")

    answer = answered(ran)
    assert (answer["error"] or {}).get("code") == code
    if code is None:
        (evidence,) = answer["parsedOutput"]["evidence"]
        assert (evidence["verified"], evidence["command"]) == (True, claimed)


FREE = """\
description: d
prompt: '{{ task }}'
tools: [Bash]
allow: [Bash]
"""


@pytest.mark.parametrize(
    ("moves", "together"),
    [
        (["cd sub"], False),
        (["cd sub"], True),
        (["touch a", "cd sub && ls"], True),
        ([". ./moves.sh"], False),
        (["eval 'cd sub'"], True),
        ([], False),
    ],
)
def test_what_ran_in_another_folder_proves_nothing_here(tmp_path, moves, together):
    """The client's shell stays where a command has changed to, in a file, too."""
    mark = "touch made"
    item = {"type": "t", "content": "it ran", "command": mark, "passed": True}
    calls = [tool_use("Bash", {"command": each}) for each in [*moves, mark]]
    made = [reply(*calls)] if together else [reply(each) for each in calls]
    model = turns(*made, submits({**SUCCESS, "evidence": [item]}), END)

    with host_world(tmp_path, model) as world:
        project = world.stage.project
        (project / "sub").mkdir()
        (project / "moves.sh").write_text("cd sub\n")
        world.define("worker", FREE)
        ran = ask(world, "worker", "Touch it.")

        assert (project / "made").exists() == (not moves)
        assert (project / "sub/made").exists() == bool(moves)
    assert ((answered(ran)["error"] or {}).get("code") == "unverified") == bool(moves)


def test_an_agent_is_held_where_the_user_has_switched_hooks_off(tmp_path):
    """The hook that holds it is ours, in a process of ours."""
    failed = {"status": "blocked", "summary": "not granted", "evidence": []}
    model = turns(runs("cd sub && touch made"), submits(failed), END)

    with host_world(tmp_path, model) as world:
        settings = world.stage.home / ".claude" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        known = json.loads(settings.read_text()) if settings.exists() else {}
        settings.write_text(json.dumps({**known, "disableAllHooks": True}))
        (world.stage.project / "sub").mkdir()
        world.define(
            "worker", FREE.replace("allow: [Bash]", "allow: ['Bash(touch *)']")
        )
        ask(world, "worker", "Go.")

        assert not (world.stage.project / "sub/made").exists()


def test_its_shell_goes_by_the_real_name_of_the_folder(tmp_path):
    """Behind a link's name, `cd ../project` leads beside the link."""
    failed = {"status": "blocked", "summary": "not granted", "evidence": []}

    with host_world(tmp_path, turns(runs("pwd >where"), submits(failed), END)) as world:
        project = world.stage.project
        (tmp_path / "elsewhere").mkdir()
        link = tmp_path / "elsewhere" / "work"
        link.symlink_to(project)
        world.define("worker", FREE)
        ask(world, "worker", "Go.", env={"PWD": str(link)}, folder=link)

        assert (project / "where").read_text() == f"{project}\n"


MENTIONS = (
    "@{0}/notes.txt",
    "at the end of a line @{0}/notes.txt",
    "x = 2  # see @~/notes.txt",
    '@"{0}/notes.txt"',
    "@notes.txt",
    "/cost",
    "/init now",
)


def test_a_prompt_is_plain_text(tmp_path):
    """The client reads `@FILE` and `/command` in what its own user types."""
    answers = {"status": "partial", "summary": "s", "evidence": []}

    with host_world(tmp_path, turns(submits(answers), END)) as world:
        for folder in (world.stage.project, world.stage.home):
            (folder / "notes.txt").write_text("TOP SECRET")
        for mention in MENTIONS:
            said = mention.format(world.stage.project)
            before = len(world.api.turns("main"))
            ran = ask(world, said)
            (first, *_) = made = world.api.turns("main")[before:]

            assert ran.returncode == 0, ran.stderr
            assert said in first.last_user_text
            assert "TOP SECRET" not in str([turn.body for turn in made]), mention


def test_a_value_that_is_no_object_comes_as_words(tmp_path):
    """The client's own check takes objects only."""
    with host_world(tmp_path, turns(reply('["billing"]'))) as world:
        (world.stage.project / "list.json").write_text('{"type": "array"}')
        ran = ask(world, "Which modules?", "--schema", "list.json")

    assert answered(ran)["parsedOutput"] == ["billing"]


NO_CREDIT = "Your credit balance is too low to go on"
ENDS = {
    "never complies": (turns(reply("I will not.")), "no_json"),
    "always another shape": (turns(submits({"status": "great"})), "schema_mismatch"),
    "rate limit": (turns(error(429, "rate_limit_error", "Slow down")), "quota"),
    "no credit": (turns(error(400, "invalid_request_error", NO_CREDIT)), "quota"),
    "auth": (turns(error(401, "authentication_error", "invalid")), "agent_error"),
    "overloaded": (turns(error(529, "overloaded_error", "Overloaded")), "agent_error"),
    "reports failure": (
        turns(submits({"status": "failed", "summary": "no"}), END),
        "agent_failed",
    ),
}


# What is printed at the other ends is read in test_printed_result.py.
TYPICAL = {"never complies", "rate limit", "reports failure"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=() if each in TYPICAL else pytest.mark.full)
        for each in ENDS
    ],
)
def test_error_code_of_an_end(tmp_path, name):
    model, code = ENDS[name]

    with host_world(tmp_path, model) as world:
        ran = ask(world, "--max-attempts", "1", "--no-wait-quota", "Say hi.")

    answer = answered(ran)
    assert (ran.returncode, answer["route"]) == (1, "claude")
    assert answer["error"]["code"] == code


def test_what_is_not_granted_is_denied_and_no_queue_is_served(tmp_path):
    """No dialog waits. Our hooks are installed; what waits for a session still does."""
    model = turns(runs("touch made-by-an-agent"), submits(SUCCESS), END)

    with host_world(tmp_path, model) as world:
        waiting = world.submit("For a session.")
        ran = ask(world, "Touch it.")
        results = [r for turn in world.api.turns("main") for r in turn.tool_results]
        sessions = world.live()
        known = list((world.store.place.state / "sessions").glob("*"))
        status = world.bridge.status(waiting).status

    assert answered(ran)["success"] is True
    assert any("denied" in result.text for result in results if result.is_error)
    assert not (world.stage.project / "made-by-an-agent").exists()
    assert (status, sessions, known) == ("pending", [], [])
    assert all("bridge:" not in json.dumps(t.body) for t in world.api.turns("main"))


def test_an_agent_of_the_project(tmp_path):
    """The client's own agents are known on this route, too."""
    with host_world(tmp_path, turns(submits(SUCCESS), END)) as world:
        world.add_agent("checker")
        trust_project(world.bridge)
        ran = ask(world, "checker", "Check.")
        (first, *_) = world.api.turns("main")

    assert answered(ran)["success"] is True
    assert "Do what you are told." in first.newest_text


NESTED = f"{sys.executable} -m bridge"


def test_an_agent_inside_is_a_child_and_its_depth_counts(tmp_path):
    """It may leave a request, or have one served, as deep as the limit says.

    The agent below does the same, so the limit must end it.
    """
    model = turns(
        runs(f"{NESTED} submit 'a child'"),
        runs(f"{NESTED} ask --route claude 'a loop'"),
        submits(SUCCESS),
        END,
    )

    with host_world(tmp_path, model) as world:
        world.allow(f"Bash({sys.executable} *)")
        ran = ask(world, "Ask again.", env={"BRIDGE_MAX_DEPTH": "2"})
        results = [r.text for t in world.api.turns("main") for r in t.tool_results]
        waiting = world.store.waiting()
        sessions = list((world.store.place.state / "sessions").glob("*"))

    answer = answered(ran)
    assert answer["success"] is True
    assert sessions == []
    said = "\n".join(results)
    assert said.count("success: done on the stage") >= 2
    assert "3 agents stand above this request; 2 is the limit" in said
    left = [world.bridge.status(child).request for child in waiting]
    depths = sorted((r.depth, r.parent_request_id) for r in left if r)
    assert depths[0] == (1, answer["requestId"])
    assert [depth for depth, _ in depths] == [1, 2]


OPTIONS = {
    "python3 -m unittest -q": "",
    "pytest --basetemp=made": "the option --basetemp is not granted",
    "ruff check --fix .": "the option --fix is not granted",
    "pytest /etc": "'/etc' lies outside the project",
    "touch made": "",
}


def test_options_are_granted_as_in_a_session(tmp_path):
    """The client does not know rules that name options: a hook of ours decides."""
    failed = {"status": "blocked", "summary": "not granted", "evidence": []}
    model = turns(*map(runs, OPTIONS), submits(failed), END)

    with host_world(tmp_path, model) as world:
        ask(world, "validation-runner", "Run it all.")
        turns_made = world.api.turns("main")
        results = [r.text for turn in turns_made for r in turn.tool_results]
        made = (world.stage.project / "made").exists()

    plain, *refused, other = results[: len(OPTIONS)]
    assert "Ran 0 tests" in plain or "NO TESTS RAN" in plain
    for text, why in zip(refused, list(OPTIONS.values())[1:], strict=False):
        assert why in text
    assert "denied" in other or "permission" in other.lower()
    assert not made


PARTED = """\
description: d
prompt: '{{ task }}'
tools: [Bash]
allow: ["Bash(make test) Bash Read(x)", "Bash(touch 'f(x) y')"]
"""


def test_a_rule_is_not_parted_into_several(tmp_path):
    """`--allowedTools` grants what stands behind a rule's first bracket, too."""
    failed = {"status": "blocked", "summary": "not granted", "evidence": []}
    commands = ("touch made", "touch 'f(x) y'")
    model = turns(*map(runs, commands), submits(failed), END)

    with host_world(tmp_path, model) as world:
        world.define("worker", PARTED)
        ask(world, "worker", "Go.")
        project = world.stage.project

        assert not (project / "made").exists()
        assert (project / "f(x) y").exists()
