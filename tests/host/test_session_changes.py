"""Sessions come and go: cleared, resumed, doubled, killed. No request is lost."""

import pytest
from hostworld import HostWorld, bash, host_world
from polling import wait_until

from bridge.errors import NoHost
from bridge.protocol.ids import RequestId
from bridge.store.switch import switch_off, switch_on
from bridge.testing.stage.models import (
    agent_output,
    answering,
    launching,
    obedient_model,
)
from bridge.testing.stage.replies import Answer, reply
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host


# A model that ignores its offers must not count as declining.
PATIENT = {"BRIDGE_MAX_OFFERS": "99"}


class Switch:
    """What the models of a test look at: off until it is switched on."""

    def __init__(self) -> None:
        self.is_on = False

    def answers(self, _prompt: str, _request: ApiRequest) -> Answer:
        """Subagents that answer once it is on."""
        if not self.is_on:
            wait_until(lambda: self.is_on)
        return agent_output()

    def main(self, request: ApiRequest) -> Answer:
        """A main thread that obeys offers once it is on."""
        return launching()(request) if self.is_on else reply("no")


def test_clear_while_an_agent_runs(tmp_path):
    """Another session id, the same process: its agents and its wake live on."""
    waiting = bash("while [ ! -e go ]; do sleep 0.05; done")
    model = obedient_model(answering(waiting, agent_output()))
    with host_world(tmp_path, model) as world:
        world.allow("Bash")
        request = world.submit()
        with world.terminal() as terminal:
            world.wait_for_run(request)
            (before,) = world.live()
            terminal.submit("/clear")
            after = wait_until(
                lambda: next(
                    (s for s in world.live() if s.session_id != before.session_id), None
                )
            )
            pinned = world.submit("for the old id", session=before.session_id)
            (world.stage.project / "go").touch()
            responses = [world.ended(each) for each in (request, pinned)]

    assert [response.error for response in responses] == [None, None]
    assert before.session_id in after.ids
    assert after.host == before.host


def test_two_processes_with_one_session_id(tmp_path):
    """Both answer; a request that one holds is not taken by the other."""
    switch = Switch()
    model = obedient_model(switch.answers, main=launching(again=True))
    with host_world(tmp_path, model) as world:
        first = world.submit("one")
        with world.stream() as one:
            run = world.wait_for_run(first)
            resume = ["--resume", run.session]
            with world.stream(args=resume) as two:
                live = world.live()
                held = world.bridge.status(first).request
                one.kill()
                second = world.submit("two")
                switch.is_on = True
                responses = [world.ended(each) for each in (second, first)]
                assert two.pid != one.pid

    assert {session.session_id for session in live} == {run.session}
    assert {session.host.pid for session in live} == {one.pid, two.pid}
    assert held.claim.host.pid == one.pid
    assert [response.error for response in responses] == [None, None]


# What was offered by a session that dies is in test_idle_session.py, too.
@pytest.mark.parametrize(
    "stage", [pytest.param("offered", marks=pytest.mark.full), "running"]
)
def test_another_session_takes_over_from_one_that_is_killed(tmp_path, stage):
    """A program that waits looks after its own request."""
    switch = Switch()
    main = switch.main if stage == "offered" else launching()
    model = obedient_model(switch.answers, main=main)
    with host_world(tmp_path, model, env=PATIENT) as world:
        request = world.submit()
        with world.stream() as one:
            if stage == "offered":
                world.wait_for_stage(request, "offered")
            else:
                world.wait_for_run(request)
            with world.stream():
                one.kill()
                switch.is_on = True
                result = world.bridge.wait(request, timeout_s=300)

    assert result.success
    assert _ended(world, request).attempt == 1


def test_a_session_that_ends_lets_go(tmp_path):
    """SessionEnd gives back what was offered; the next session serves it."""
    switch = Switch()
    with host_world(tmp_path, obedient_model(main=switch.main), env=PATIENT) as world:
        request = world.submit()
        with world.stream():
            world.wait_for_stage(request, "offered")
        between = world.stage_of(request)
        agents_left = list((world.store.place.state / "agents").glob("*"))
        switch.is_on = True
        with world.stream():
            response = world.ended(request)

    assert (between, agents_left) == ("waiting", [])
    assert response.success


def test_two_sessions_share_the_work(tmp_path):
    """A request for one of them goes to that one, any other to either.

    What one declines is left to the other.
    """
    ignoring: list[str] = []
    is_over = False
    obey = launching()

    def main(request):
        if is_over and not ignoring and "bridge:" in request.newest_text:
            ignoring.append(str(request.session_id))
        return reply("no") if request.session_id in ignoring else obey(request)

    with host_world(tmp_path, obedient_model(main=main)) as world:
        with world.stream(), world.stream():
            ids = [session.session_id for session in world.live()]
            pinned = {
                world.submit("for you", session=session): session for session in ids
            }
            others = [world.submit("for any") for _ in range(4)]
            for request in (*pinned, *others):
                assert world.ended(request).success
            world.wait_until_forgotten()
            is_over = True
            declined = world.submit()
            response = world.ended(declined)
        served_by = {each: _session_of(world, each) for each in pinned}

    assert len(set(ids)) == 2
    assert served_by == pinned
    assert response.success
    ended = _ended(world, declined)
    assert ended.declined_by == tuple(ignoring)
    assert ended.claim.session not in ignoring


def test_switched_off_and_on(tmp_path):
    """Off: what was offered waits, a running agent stops. On: all is served."""

    def working(_prompt, _request):
        if switched:
            return agent_output()
        return bash("sleep 0.1")

    switched: list[bool] = []
    model = obedient_model(working, main=launching(again=True))
    with host_world(tmp_path, model) as world:
        world.allow("Bash")
        request = world.submit()
        with world.stream() as session:
            world.wait_for_run(request)
            switch_off(world.store)
            world.wait_for_stage(request, "waiting")
            session.ask("still there?")
            with pytest.raises(NoHost):
                world.bridge.ask("hello")
            while_off = world.stage_of(request)
            switched.append(switch_on(world.store))
            session.ask("go on")
            response = world.ended(request)

    assert (while_off, switched, response.error) == ("waiting", [True], None)


def test_off_by_the_environment(tmp_path):
    with host_world(tmp_path, env={"BRIDGE_OFF": "1"}) as world:
        request = world.submit()
        with world.stream():
            assert world.live() == []

    assert world.stage_of(request) == "waiting"
    # The client itself lists our agent's name.
    assert "bridge:" not in world.main_words()


def test_a_session_that_was_open_before_the_install(tmp_path):
    """Nothing wakes it, but its next prompt finds what waits."""
    with host_world(tmp_path, kinds=()) as world:
        with world.stream() as session:
            world.install("local")
            request = world.submit()
            wait_until(lambda: session.ask("again") and world.live())
            response = world.ended(request)
            (known,) = world.live()

    assert response.success
    assert not known.wakes


@pytest.mark.parametrize(
    "kinds",
    [("local", "user"), pytest.param(("local", "local"), marks=pytest.mark.full)],
)
def test_two_installs_do_everything_once(tmp_path, kinds):
    with host_world(tmp_path, kinds=kinds) as world:
        with world.stream():
            request = world.submit()
            response = world.ended(request)
            world.wait_until_forgotten()

    assert response.success
    assert len({turn.agent_id for turn in world.api.turns("subagent")}) == 1
    assert world.main_words().count("hostbridge: call Agent once") >= 1
    (last,) = world.api.turns("main")[-1:]
    assert str(last.body["messages"]).count(f"bridge:{request}") == 2


def _ended(world: HostWorld, request: RequestId):
    found = world.bridge.status(request).request
    assert found is not None
    return found


def _session_of(world: HostWorld, request: RequestId) -> str:
    claim = _ended(world, request).claim
    return claim.session
