"""A flow run from Python: here, on a route of our own, and by an open session."""

import asyncio
import json
import threading
import time

import pytest
from fakeclaude import fake_claude, printing, result, saying_claude, trust_folder
from polling import wait_until
from servingworld import bridge_in, open_session
from storeworld import answer, claim_all, dead_process

from bridge import AsyncBridge, InvalidRequest, NoHost
from bridge.api import follow_run, upkeep
from bridge.api.follow_run import Follower
from bridge.api.run_flow import Runner
from bridge.engine import marks
from bridge.engine.advance import advance
from bridge.engine.view import view
from bridge.flow.problems import InvalidFlow
from bridge.host.calling_agent import asking_process
from bridge.mcp import flow_tools
from bridge.mcp.caller import Caller
from bridge.store import Claimant
from bridge.store.live_runs import live_runs
from bridge.store.submit import submit

pytestmark = pytest.mark.slow

G = "general-purpose"


@pytest.fixture
def here(tmp_path):
    """The bridge of a project whose `claude` says what it was asked."""
    claude = saying_claude(tmp_path / "bin")
    bridge = bridge_in(tmp_path, claude=str(claude), slots=1)
    trust_folder(tmp_path / "claude", tmp_path / "project")
    return bridge


def test_a_flow_runs_here_to_its_end(here):
    source = f'{G}:"Look at {{{{what}}}}":seen -> {G}:"Sum up {{seen}}":sum'

    done = here.run(source, {"what": "src"}, route="claude")

    assert (done.success, done.status, done.why) == (True, "completed", "")
    assert (done.text, done.asked) == ("<Sum up <Look at src>>", 2)
    assert done.variables == {"seen": "<Look at src>", "sum": done.text}
    assert done.answers[0]["status"] == "success"


def test_a_failed_flow_says_why_and_can_be_resumed(here, tmp_path):
    words = fake_claude(tmp_path / "bin", printing("no", code=3))
    done = here.run(f'{G}:"Look"', route="claude")
    assert (done.success, done.status) == (False, "failed")
    assert done.why.startswith("node-0: agent_error: ")

    fake_claude(
        words.parent,
        printing(result(structured_output={"status": "success", "summary": "ok"})),
    )
    again = here.resume(done.run)
    assert (again.success, again.text) == (True, "ok")


def test_an_agent_of_a_flow_waits_for_a_limit_unless_told_otherwise(here, tmp_path):
    """The limit of the plan ends no run; with `wait_quota=False` it does."""
    limit = "usage limit reached; try again in 2 seconds"
    good = printing(result(structured_output={"status": "success", "summary": "ok"}))
    met = printing(result(is_error=True, result=limit), code=1)
    script = f'if [ -e "$here/met" ]; then {good}\nelse touch "$here/met"\n{met}\nfi'
    fake_claude(tmp_path / "bin", script)

    done = here.run(f'retry(1) {{ {G}:"Look" }}', route="claude")
    (tmp_path / "bin" / "met").unlink()
    failed = here.run(f'{G}:"Look"', route="claude", wait_quota=False)

    assert (done.success, done.text, done.asked) == (True, "ok", 1)
    assert failed.why.startswith("node-0: quota: ")


def leave(_seen):
    raise KeyboardInterrupt


@pytest.fixture
def left(here):
    """A run whose agent is served by a process that is dead."""
    with pytest.raises(KeyboardInterrupt):
        here.run(f'{G}:"x"', route="claude", on_change=leave)
    assert claim_all(here.store, dead_process())
    with here.store.state() as state:
        (run,) = live_runs(state)
    return run


@pytest.mark.parametrize("kills", [0, 3])
def test_a_run_goes_on_whose_process_was_killed_while_it_served(here, left, kills):
    """However often: a request that was taken back twice has failed, and its run."""
    for number in range(kills):
        with pytest.raises(KeyboardInterrupt):
            here.resume(left, on_change=leave)
        assert number == kills - 1 or claim_all(here.store, dead_process())

    assert here.resume(left).text == "<x>"


@pytest.mark.parametrize(
    ("source", "kind", "why"),
    [
        ('Plann:"x"', InvalidFlow, "no agent is named 'Plann'"),
        (f'{G}:"{{{{what}}}}"', InvalidRequest, "the parameter 'what' is missing"),
        ("nothing", InvalidRequest, "no flow or workflow is named 'nothing'"),
        (f'{G}:"x"', NoHost, None),
    ],
)
def test_nothing_is_begun_of_a_flow_that_cannot_run(here, source, kind, why):
    route = {} if kind is NoHost else {"route": "claude"}
    with pytest.raises(kind, match=why):
        here.run(source, **route)

    assert not (here.store.place.state / "runs").exists()


def test_a_flow_of_the_user_is_found_by_its_name(here):
    folder = here.settings.home / "flows"
    folder.mkdir(parents=True)
    (folder / "mine.flow").write_text(f'@call:other(what="it"):x -> {G}:"Use {{x}}"')
    (folder / "other.flow").write_text(f'{G}:"Make {{{{what}}}}"')

    done = here.run("mine", route="claude")

    assert done.text == "<Use <Make it>>"
    assert done.name == "mine"


def answering(bridge, session, count):
    """A session that claims and answers what waits."""
    deadline = time.monotonic() + 180
    while count and time.monotonic() < deadline:
        claimant = Claimant("open", session.host)
        for held in bridge.store.claim(claimant, 9, lambda _: "take"):
            bridge.store.publish(
                answer(held, f"<{held.prompt}>", now_ms=held.created_at), source="test"
            )
            count -= 1
        time.sleep(0.02)


def test_a_flow_runs_in_an_open_session(tmp_path):
    bridge = bridge_in(tmp_path)
    session = open_session(bridge.store)
    host = threading.Thread(target=answering, args=(bridge, session, 3))
    host.start()
    seen = []

    done = bridge.run(
        f'[{G}:"a":x || {G}:"b"] -> {G}:"c {{x}}"',
        on_change=lambda view: seen.append(view.run["status"]),
    )

    host.join()
    assert done.text == "<c <a>>"
    assert seen[-1] == "completed"


def followed_here(bridge, run):
    """As `Bridge.run` sees a run to its end."""
    return Runner(bridge.store, bridge.settings, bridge.quick).follow(run, {}).text


def followed_in_mcp(bridge, run):
    """As the tool wait_for_flow does."""
    caller = Caller(asking_process(bridge.store, bridge.settings))
    done = asyncio.run(flow_tools.followed(bridge, caller, run, 180, None))
    return done.structured_content["text"]


@pytest.mark.parametrize("followed", [followed_here, followed_in_mcp])
def test_what_is_written_down_and_not_yet_submitted_is_waited_for(
    tmp_path, monkeypatch, followed
):
    """Who advances a run may be slow in the middle of it; then nothing is lost."""
    bridge = bridge_in(tmp_path)
    session = open_session(bridge.store)
    runner = Runner(bridge.store, bridge.settings, bridge.quick)
    run = runner.begin(f'{G}:"a"', {}, {})
    goes_on, waiting = threading.Event(), []

    def slow(*asked, **how):
        assert goes_on.wait(180)
        return submit(*asked, **how)

    def look(self, run_id, *, really=Follower.look):
        waiting.append(bridge.store.waiting())
        if len(waiting) == 6:
            goes_on.set()
        return really(self, run_id)

    monkeypatch.setattr(marks, "submit", slow)
    monkeypatch.setattr(follow_run, "_ANYHOW_S", 0.0)
    monkeypatch.setattr(flow_tools, "_REPORT_S", 600.0)
    monkeypatch.setattr(upkeep, "TEND_S", 0.0)
    arguments = (bridge.store, bridge.settings, run)
    advancing = threading.Thread(target=advance, args=arguments)
    advancing.start()
    wait_until(lambda: view(bridge.store, run).run["open"])
    monkeypatch.setattr(Follower, "look", look)
    host = threading.Thread(target=answering, args=(bridge, session, 1))
    host.start()
    try:
        text = followed(bridge, run)
    finally:
        goes_on.set()
        advancing.join()

    host.join()
    assert waiting[:6] == [[]] * 6
    assert text == "<a>"


@pytest.mark.parametrize("followed", [followed_here, followed_in_mcp])
def test_an_answer_between_look_and_wait_is_not_missed(tmp_path, monkeypatch, followed):
    """Whoever waits looks again at once, and not when the next look is due."""
    bridge = bridge_in(tmp_path)
    session = open_session(bridge.store)
    runner = Runner(bridge.store, bridge.settings, bridge.quick)
    run = runner.begin(f'{G}:"a" -> {G}:"b"', {}, {})

    def look(self, run_id, *, really=Follower.look):
        seen = really(self, run_id)
        for held in bridge.store.claim(
            Claimant("open", session.host), 9, lambda _: "take"
        ):
            bridge.store.publish(
                answer(held, f"<{held.prompt}>", now_ms=held.created_at), source="test"
            )
        return seen

    monkeypatch.setattr(follow_run, "_ANYHOW_S", 3600.0)
    monkeypatch.setattr(flow_tools, "_REPORT_S", 3600.0)
    monkeypatch.setattr(Follower, "look", look)

    assert followed(bridge, run) == "<b>"


def test_asyncio_runs_flows_too(here):
    done = asyncio.run(AsyncBridge(here).run(f'{G}:"x"', route="claude"))

    assert json.loads(json.dumps(done.answers))[0]["summary"] == "<x>"
