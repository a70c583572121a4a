"""`hostbridge show`: the history of one request, and nothing a terminal would obey."""

import json
import re

import pytest
from agentworld import define

from bridge.agent_loop.run_log import TurnLog
from bridge.store import subagent_runs

HOSTILE = (
    "red \x1b[31m title \x1b]0;owned\x07 C1 \x9b31m bidi \u202e del \x7f\rback\x08"
)


def test_prints_the_history_from_every_file(project, host):
    """Who asked what, what happened, what it came to, and where to read it."""
    request_id = project.submit("Which modules\nlack tests?", model="haiku")
    (request,) = host.claim()
    why = "prose where JSON was due"
    host.store.keep_evidence(request_id, reason=why, source="SubagentStop", words="Hm.")
    host.answer(request, '{"status": "success", "summary": "billing"}')

    ran = project.run("show", request_id)

    text = re.sub(r"\d\d:\d\d:\d\d +(\+\d\.\d s)? *", "TIME ", ran.out)
    text = re.sub(r"(just now|\d+ s ago), \d\d:\d\d:\d\d", "AGO", text)
    text = re.sub(r"\d+\.\d s\b", "SPAN", text)
    evidence = next((project.state / "evidence").iterdir())
    assert (ran.code, ran.err) == (0, "")
    assert text == (
        f"request   {request_id}\nstatus    completed after SPAN\n"
        "asked by  a test, AGO\nagent     general-purpose (haiku)\n"
        "deadline  120 s after it was asked\nroute     an open session (host)\n"
        "session   session-1 (pid {pid})\nprompt (25 characters)\n    Which modules\n"
        "    lack tests?\nwhat happened\n    TIME asked by a test\n"
        "    TIME taken by session-1 (pid {pid})\n    TIME the agent was started\n"
        "    TIME answer rejected (SubagentStop): prose where JSON was due\n"
        "    TIME answered (the test)\nrejected answers\n"
        "    SubagentStop: prose where JSON was due\n        Hm.\nanswer\n"
        f"    success: billing\nfiles\n    {project.state}/done/{request_id}.json\n"
        f"    {project.state}/responses/{request_id}.json\n    {evidence}\n"
        f"    {project.state}/events.jsonl\n"
    ).format(pid=host.claimant.host.pid)


def test_shows_the_tool_calls_of_a_running_agent(project, host):
    """What it has done so far, while it runs."""
    request_id = project.submit()
    host.claim()
    who = {"session": "session-1", "host": host.claimant.host}
    call = {"request_id": request_id, "tool_use_id": "toolu_1"}
    run = subagent_runs.AgentRun(**call, **who, launched_at=1, answer_by=2)
    subagent_runs.note_call(host.store, run)
    subagent_runs.bind(host.store, run, "agent-1")
    (project.state / "agents" / "agent-1.calls").write_text(
        '{"id": "t1", "tool": "Bash", "at": 1, "command": "pytest -q"}\n'
        '{"id": "t1", "tool": "Bash", "ok": true}\n'
    )

    ran = project.run("show", request_id)

    assert "status    running\n" in ran.out
    assert "tool calls\n    ok      Bash pytest -q\n" in ran.out
    assert f"    {project.state}/agents/agent-1.calls\n" in ran.out


@pytest.mark.parametrize("full", [[], ["--full"]], ids=["short", "full"])
def test_hostile_words_reach_no_terminal(project, host, full):
    """Prompts and answers come from outside; a terminal obeys what it is sent."""
    request_id = project.submit(HOSTILE, task_id=HOSTILE)
    (request,) = host.claim()
    host.store.keep_evidence(request_id, reason=HOSTILE, source="x", words=HOSTILE)
    host.answer(request, HOSTILE)

    for words in (["show", request_id, *full], ["wait", request_id], ["status"]):
        ran = project.run(*words)
        assert not set("\x1b\x07\x9b\u202e\x7f\r\x08") & set(ran.out + ran.err), words


@pytest.mark.usefixtures("host")
def test_json_says_the_same_and_keeps_every_character(project):
    """Escaped, not stripped: what machines get is what was said."""
    request_id = project.submit(HOSTILE)

    ran = project.run("show", request_id, "--json")

    assert not set("\x1b\x07\x9b\u202e\x7f\r\x08") & set(ran.out)
    assert ran.json["request"]["prompt"] == HOSTILE
    assert (ran.json["status"], ran.json["response"]) == ("pending", None)
    assert [line["event"] for line in ran.json["history"]] == ["submitted"]


def test_a_long_prompt_is_cut_unless_full(project):
    """A prompt of 600 kB does not bury the story."""
    request_id = project.submit("\n".join(f"line {n}" for n in range(1, 101)))

    short = project.run("show", request_id).out
    full = project.run("show", request_id, "--full").out

    assert "    line 8\n  … 736 more characters (--full)\n" in short
    assert "line 9" not in short
    assert "    line 100\n" in full


def test_a_prompt_cannot_pose_as_our_own_lines(project):
    """A prompt with lines that look like ours stands indented."""
    request_id = project.submit("x\nstatus    completed\u2028route     host")

    lines = project.run("show", request_id).out.splitlines()

    assert "    status    completed" in lines
    ours = ["status    waiting", "route     an open session (host)"]
    assert [each for each in lines if each.startswith(("status", "route"))] == ours


def test_traces_of_a_pruned_request(project):
    """A pruned request is distinguished from one that never was."""
    request_id = project.submit()
    project.bridge.cancel(request_id)
    project.run("prune", "--max-mib", "0")

    ran = project.run("show", request_id)

    assert ran.out.startswith(
        f"request   {request_id}\nstatus    gone; only traces are left\nwhat happened\n"
    )


def test_what_is_overdue_is_ended(project):
    """Nobody was there to end it; a look at it does."""
    request_id = project.submit(timeout_s=0.001)

    ran = project.run("show", request_id)

    assert "\nstatus    timeout after 0.0 s\n" in ran.out
    why = "no answer within 0.001 s: nobody had taken it"
    assert f"\nfailed: timeout\n    {why}\n" in ran.out
    assert "\nwhat helps\n    see why: hostbridge doctor; " in ran.out


def test_error_unknown_request(project):
    """With the place that was looked at; the log of others is no trace of it."""
    project.submit()

    ran = project.run("show", "nobody")

    first, *ways = ran.err.splitlines()
    assert first == f"hostbridge: no request nobody in {project.state}"
    assert "    - see which there are: hostbridge status" in ways


def test_a_run_of_our_own_is_shown_turn_by_turn(project):
    """What a local model did is to be seen; nothing in it can pose as the story."""
    request_id = project.submit()
    log = TurnLog(project.bridge.store, request_id)
    log({"event": "model_request", "turn": 1, "messages": 2})
    log({"event": "tool_call", "turn": 1, "id": "call-1", "tool": "read_file"})
    log({"event": "submit_result", "turn": 2, "code": None, "text": f"a\n{HOSTILE}"})

    shown = project.run("show", request_id).out
    as_json = project.run("show", request_id, "--json")

    lines = [re.sub(r"\d\d:\d\d:\d\d", "TIME", line) for line in shown.split("\n")]
    start = lines.index("run")
    assert lines[start + 1 : start + 3] == [
        "    TIME 1. model_request messages=2",
        "    TIME 1. tool_call id=call-1 tool=read_file",
    ]
    assert lines[start + 3].startswith("    TIME 2. submit_result text=a red ")
    assert not set("\x1b\x9b\u202e\x7f\r\x08") & set(shown)
    assert f"    {project.state}/runs/{request_id}.jsonl" in lines
    turns = json.loads(as_json.out)["turns"]
    events = ["model_request", "tool_call", "submit_result"]
    assert [turn["event"] for turn in turns] == events


def test_full_shows_the_lines_of_a_run_uncut(project):
    """The error of a script stands at the end of them."""
    request_id = project.submit()
    error = "x" * 500 + "\n" + "12:00:00.000 9. posing\nKeyError: 'total'"
    log = TurnLog(project.bridge.store, request_id)
    log({"event": "tool_result", "turn": 1, "ok": False, "text": error})

    short = project.run("show", request_id).out
    full = project.run("show", request_id, "--full").out

    assert "KeyError" not in short
    assert (
        f" 1. tool_result ok=False text={'x' * 500}\n        12:00:00.000 9. posing\n"
        "        KeyError: 'total'\n"
    ) in full


def test_shows_what_else_was_asked_for(project):
    """Whoever wonders why it still waits finds for whom, and with what."""
    who = {"agent": "researcher", "route": "host", "session": "another"}
    how = {"priority": "high", "dedup_key": "k", "timeout_s": 30 * 86_400}
    values = {"arguments": {"package": "billing"}, "variables": {"depth": None}}
    request_id = project.submit("a", **who, **how, **values)

    shown = project.run("show", request_id).out

    assert (
        "priority  high\nonly for  session another\nkey       k\n"
        'arguments {"package":"billing"}\n'
        'variables {"depth":null}\n'
    ) in shown
    assert "\ndeadline  2,592,000 s after it was asked: in 30 d\n" in shown
    assert "\nprompt (1 character)\n" in shown


def test_shows_the_node(project):
    """What it is about belongs to what was asked."""
    (project.folder / "cart.py").write_text("\n\ndef total():\n    return 0\n")
    request_id = project.submit("Is it right?", node="cart.py::total")

    shown = project.run("show", request_id).out

    assert (
        "prompt (12 characters)\n    Is it right?\n"
        "node cart.py, line 3, function total\n    def total():\n        return 0\n"
    ) in shown


def test_full_shows_the_whole_prompt_of_the_agent(project, host):
    """The definition's prompt with the contract, once the agent has it."""
    define(project, "a.yaml", "name: a\nprompt: 'Be terse. {{ task }}'\n", layer="user")
    request_id = project.submit("Why?", agent="a")
    waiting = project.run("show", request_id).out
    host.claim()

    short = project.run("show", request_id).out
    full = project.run("show", request_id, "--full").out

    assert "with its definition (14 characters)\n    Be terse. Why?\n" in waiting
    assert "sent as" not in waiting + short
    shown = full.partition("sent as user (")[2].partition("\nhistory\n")[0]
    assert "characters)\n    Be terse. Why?\n    \n    ## How to answer (host" in shown
    assert '"required": ["status", "summary"' in shown


def test_full_shows_what_was_sent_to_a_local_model(project):
    """As its run recorded it; it is no turn."""
    request_id = project.submit()
    log = TurnLog(project.bridge.store, request_id)
    log({"event": "told", "turn": 0, "role": "system", "text": f"Careful.\n{HOSTILE}"})
    log({"event": "told", "turn": 0, "role": "user", "text": "Why?"})

    full = project.run("show", request_id, "--full").out

    assert re.search(
        r"^sent as system \(\d+ characters\)\n    Careful.\n    red ", full, re.M
    )
    assert "\nsent as user (4 characters)\n    Why?\n" in full
    assert "\nrun\n" not in full
    assert "sent as" not in project.run("show", request_id).out
