"""What an agent took, as the client's transcripts tell it, and who learns of it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hookworld import GOOD

from bridge.host.agent_usage import taken_so_far, told_in
from bridge.host.events import HookEvent
from bridge.protocol.record import LATEST_MS
from bridge.protocol.usage import Usage
from bridge.store.charges import final_usage
from bridge.store.clock import uptime

USAGE = {
    "input_tokens": 5,
    "cache_read_input_tokens": 900,
    "cache_creation_input_tokens": 30,
    "output_tokens": 2,
    "service_tier": "standard",
}
ONE = Usage(
    input_tokens=5,
    cache_read_tokens=900,
    cache_write_tokens=30,
    output_tokens=2,
    requests=1,
)


def said(name: str = "m1", usage: Any = USAGE, model: Any = "claude-m", **more) -> str:
    message = {"id": name, "role": "assistant", "model": model, "usage": usage}
    return json.dumps({"type": "assistant", "message": message} | more)


TRANSCRIPTS: dict[str, tuple[list[str], Usage | None]] = {
    "one message": ([said()], ONE),
    "a record for each block": ([said(), said(), said("m2")], ONE + ONE),
    "the last record counts": ([said(usage=USAGE | {"output_tokens": 1}), said()], ONE),
    "cut in the middle": ([said(), said("m2")[:-9]], ONE),
    "junk around": (["\x00", '"usage"', said(), "[]", '{"usage": 1}'], ONE),
    "the client's own complaint": ([said(), said("m2", model="<synthetic>")], ONE),
    "the client's own copy": ([said(), said("m2", type="api-request-blob")], ONE),
    "a number that cannot be": (
        [said(usage=USAGE | {"cache_read_input_tokens": -1})],
        ONE.with_(cache_read_tokens=0),
    ),
    "more than can be": (
        [said(usage=USAGE | {"output_tokens": 2**53}), said("m2")],
        ONE.with_(output_tokens=2, requests=2) + ONE.with_(output_tokens=0, requests=0),
    ),
    "nothing but nonsense": ([said(usage={"input_tokens": "9"}), said(usage=[])], None),
    "nothing said": ([json.dumps({"type": "user", "message": {}})], None),
    "nothing": ([], None),
}


@pytest.mark.parametrize("case", TRANSCRIPTS)
def test_what_a_transcript_tells(case):
    lines, expected = TRANSCRIPTS[case]

    told = told_in("\n".join([*lines, ""]).encode())

    assert (told.usage if told else None) == expected


def test_sums_stay_numbers_that_a_record_can_hold():
    most = {"input_tokens": LATEST_MS, "output_tokens": 1}
    told = told_in("\n".join(said(str(n), most) for n in range(3)).encode())

    assert told.usage.input_tokens == LATEST_MS


@pytest.mark.parametrize("model", ["x" * 300, "a b", "\x1b[31m", 7, None, "<m>"])
def test_a_model_of_another_form_is_not_named(model):
    told = told_in(f"{said()}\n{said('m2', model=model)}\n".encode())

    assert told.model == "claude-m"


def _holes(file: Path) -> None:
    with file.open("wb") as holes:
        holes.seek(3 << 30)
        holes.write(b"\n")


def _link(file: Path) -> None:
    elsewhere = file.with_name("elsewhere")
    elsewhere.write_text(f"{said()}\n")
    file.symlink_to(elsewhere)


@pytest.mark.parametrize("put", [os.mkfifo, Path.mkdir, _holes, _link, Path.touch])
def test_what_is_no_transcript_tells_nothing(tmp_path, put):
    folder = tmp_path / "s" / "subagents"
    folder.mkdir(parents=True)
    put(folder / "agent-a1.jsonl")

    assert (
        taken_so_far(HookEvent({"transcript_path": f"{tmp_path}/s.jsonl"}), "a1")
        is None
    )


def journal_usage(world, request: str) -> Usage | None:
    """What the journal says in the end."""
    return final_usage(None, world.store.history(request))


def charged(world) -> list[int | None]:
    """The tokens that the session is charged, by agent."""
    (session,) = world.live()
    return [each.tokens for each in session.spending.charges.values()]


def test_every_turn_counts_with_the_corrected_one(world):
    request, agent = world.working()
    world.took(agent, "m1", 100)
    world.took(agent, "m2", 200)
    world.stop(agent, "Done!")
    world.took(agent, "m3", 300, model="claude-m-2")

    world.stop(agent, GOOD)

    response = world.response(request)
    assert response.usage == Usage(input_tokens=600, output_tokens=3, requests=3)
    assert response.model == "claude-m-2"
    assert not response.degraded
    assert charged(world) == [603]


def test_the_size_of_the_last_request_does_not_replace_what_was_used(world):
    _, agent = world.working()
    world.took(agent, "m1", 100)
    world.stop(agent)

    world.notice(agent, usage="<subagent_tokens>90000</subagent_tokens>")

    assert charged(world) == [101]


def test_a_failure_tells_what_it_took_as_well(world):
    request, agent = world.working()
    world.took(agent, "m1", 100)

    world.notice(agent, "killed")

    response = world.response(request)
    assert response.error.code == "agent_stopped"
    assert response.usage == Usage(input_tokens=100, output_tokens=1, requests=1)
    assert charged(world) == [101]


def test_what_comes_after_the_answer_is_in_the_journal(world):
    """The response is sealed; the notice of the end knows of one turn more."""
    request, agent = world.working()
    world.took(agent, "m1", 100)
    world.stop(agent)
    world.took(agent, "m2", 50)

    world.notice(agent)

    sealed = Usage(input_tokens=100, output_tokens=1, requests=1)
    whole = Usage(input_tokens=150, output_tokens=2, requests=2)
    history = world.store.history(request)
    response = world.response(request)
    (line,) = [each for each in history if each["event"] == "usage"]
    assert response.usage == sealed
    assert final_usage(response, history) == whole
    assert line["model"] == "claude-m-1"
    assert charged(world) == [152]


def test_nothing_is_added_to_the_journal_that_the_response_tells(world):
    request, agent = world.working()
    world.took(agent, "m1", 100)
    world.stop(agent)

    world.notice(agent)

    assert journal_usage(world, request) is None


def test_without_a_transcript_it_answers_and_the_client_is_believed(world):
    request, agent = world.working()
    world.transcript(agent).unlink()
    world.stop(agent)

    world.notice(agent, usage="<subagent_tokens>700</subagent_tokens>")

    response = world.response(request)
    assert (response.success, response.usage, response.model) == (True, None, None)
    assert charged(world) == [700]


def test_the_agents_below_count_in_the_answer_and_are_charged_once(world):
    request, agent = world.working()
    world.took(agent, "m1", 100, content=[{"type": "tool_use", "name": "Agent"}])
    nested = world.nest(agent)
    meta = world.transcript(nested).with_suffix(".meta.json")
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"parentAgentId": agent}))
    world.took(nested, "n1", 30)
    world.stop(nested, "inner done")
    world.notify(agent, nested)
    world.took(agent, "m2", 20)

    world.stop(agent)

    response = world.response(request)
    assert response.usage == Usage(input_tokens=150, output_tokens=3, requests=3)
    assert response.model == "claude-m-1"
    assert charged(world) == [122, 31]


def test_agents_that_call_each_other_end(tmp_path):
    """Somebody else has written it: each counts once, however they are linked."""
    folder = tmp_path / "s" / "subagents"
    folder.mkdir(parents=True)
    call = json.dumps({"type": "assistant", "message": {}})
    for name, parent in (("a", "b"), ("b", "a"), ("c", "../a")):
        content = [{"type": "tool_use", "name": "Agent"}]
        message = json.loads(said(name))["message"] | {"content": content}
        line = json.dumps({"type": "assistant", "message": message})
        (folder / f"agent-{name}.jsonl").write_text(f"{call}\n{line}\n")
        (folder / f"agent-{name}.meta.json").write_text(
            f'{{"parentAgentId":"{parent}"}}'
        )

    taken = taken_so_far(HookEvent({"transcript_path": f"{tmp_path}/s.jsonl"}), "a")

    assert (taken.own, taken.total) == (ONE, ONE + ONE)


def test_a_run_knows_what_its_agent_took_before_the_answer_leads_on(world, begun):
    """`--max-tokens` holds for the next step already."""
    from bridge.store.live_runs import tokens_of

    run = begun('general-purpose:"Say hello." -> general-purpose:"Say more."')
    world.say("UserPromptSubmit", prompt="hello")
    (waiting,) = world.bridge.overview().requests
    agent = world.start(world.launch(waiting.request_id))
    world.took(agent, "m1", 100)

    world.stop(agent)

    with world.store.state() as state:
        assert tokens_of(state, run) == 101


def test_an_hour_counts_what_was_used(world):
    _, agent = world.working()
    world.took(agent, "m1", 100, usage=USAGE)
    world.stop(agent)

    (session,) = world.live()
    assert session.spending.used("tokens", "hour", uptime(world.store.clock)) == 37
