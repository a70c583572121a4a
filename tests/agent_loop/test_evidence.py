"""A small model's word is not evidence: what ran is."""

from __future__ import annotations

import hashlib

import pytest
from runworld import call, definition, submit

from bridge.protocol.agent_output import AgentOutput

RUNNER = {
    "allow": ("Bash(sh check.sh)", "Bash(echo *)"),
    "require_verified_evidence": True,
}
CHECK = call("run_command", command="sh check.sh")


@pytest.fixture
def agent(world):
    world.write("check.sh", "cat status; exit $(cat status)")
    world.write("status", "0")
    # `$(` is in the script, which the definition grants; not in the command.
    return definition(**RUNNER)


def test_what_ran_is_attached(world, agent):
    """Command, exit code and digest, whatever the model claims or leaves out."""
    outcome = world.run(CHECK, submit(), agent=agent)

    assert outcome.verdict.code is None
    (proof,) = outcome.verdict.parsed["evidence"]
    assert proof == {
        "type": "command",
        "content": "exit code 0, 1 bytes of output",
        "passed": True,
        "command": "sh check.sh",
        "toolUseId": "call-1",
        "verified": True,
        "exitCode": 0,
        "outputSha256": hashlib.sha256(b"0").hexdigest(),
    }
    assert outcome.run.evidence[0].command == "sh check.sh"


def test_error_success_without_anything_run(world, agent):
    """Tiny models say "passed" unasked."""
    outcome = world.run(submit(summary="all tests passed"), agent=agent)

    assert outcome.verdict.code == "unverified"
    assert outcome.verdict.parsed is None
    assert outcome.verdict.complaint == (
        "nothing was seen to run, so this answer rests on nothing: run what shows it, "
        "or say that you are blocked"
    )


def test_reading_is_not_running(world, agent):
    outcome = world.run(call("read_file", path="check.sh"), submit(), agent=agent)

    assert outcome.verdict.code == "unverified"


@pytest.mark.parametrize("is_small", [True, False])
def test_error_a_failure_of_a_command_that_was_refused(world, agent, is_small):
    """To say `failed` tells of an exit code, and there is none."""
    outcome = world.run(
        call("run_command", command="rm x"),
        submit("failed", "rm x exited with 1"),
        agent=agent,
        is_small=is_small,
    )

    assert outcome.verdict.code == "unverified"
    assert "say that you are blocked" in outcome.verdict.complaint


def test_to_be_blocked_needs_no_proof(world, agent):
    outcome = world.run(
        submit("failed", "cannot run it"), submit("blocked", "not granted"), agent=agent
    )

    assert outcome.verdict.code == "agent_blocked"
    assert outcome.verdict.parsed["summary"] == "not granted"


def test_error_a_failure_in_a_form_of_the_callers(world, agent):
    """`status` is our word there, too."""
    schema = {"type": "object", "properties": {"status": {}, "evidence": {}}}
    said = call("submit_result", status="failed")

    none = world.run(said, agent=agent, schema=schema)
    ran = world.run(CHECK, said, agent=agent, schema=schema)

    assert none.verdict.code == "unverified"
    assert (ran.verdict.code, ran.verdict.parsed) == (None, {"status": "failed"})


OPEN = {"type": "object", "properties": {"status": {}, "evidence": {}}}
BOTH = {"type": "object", "properties": {"status": {}, "verdict": {}}}


@pytest.mark.parametrize(
    ("schema", "more"),
    [
        (None, {"verdict": "REJECTED"}),
        (OPEN, {"verdict": "NEEDS_REVIEW"}),
        (BOTH, {"verdict": "REJECTED"}),
    ],
    ids=["agent-output", "own-form", "both"],
)
def test_error_a_verdict_beside_success_takes_nothing_back(world, agent, schema, more):
    """Everybody reads `status: success`; the key would only hide that nothing ran."""
    said = submit(summary="all tests pass", **more)

    none = world.run(said, agent=agent, schema=schema)
    world.write("status", "1")
    failed = world.run(CHECK, said, agent=agent, schema=schema)

    assert none.verdict.code == "unverified"
    assert failed.verdict.code == "agent_failed"


@pytest.mark.parametrize("claim", ["success", "partial"])
def test_the_status_follows_the_exit_code(world, agent, claim):
    """A success that the command denies is a failure, by name."""
    world.write("status", "3")

    outcome = world.run(CHECK, submit(claim, "all passed"), agent=agent)

    assert outcome.verdict.code == "agent_failed"
    assert outcome.verdict.parsed["status"] == "failed"
    assert outcome.verdict.complaint == (
        "success was claimed, but 'sh check.sh' failed: exit code 3, 1 bytes of output"
    )


MENDER = {
    "allow": ("Bash(test *)", "Bash(rm *)"),
    "require_verified_evidence": True,
}


@pytest.mark.parametrize("rerun", ["test ! -e bad", "test  !  -e 'bad'"])
def test_what_failed_may_be_mended_and_run_again(world, rerun):
    """However the second run is spelt: it is the one that counts."""
    world.write("bad", "")

    outcome = world.run(
        call("run_command", command="test ! -e bad"),
        call("run_command", command="rm bad"),
        call("run_command", command=rerun),
        submit(),
        agent=definition(**MENDER),
    )

    assert outcome.verdict.code is None
    told = outcome.verdict.parsed["evidence"]
    assert [e["passed"] for e in told] == [False, True, True]


def test_error_what_failed_stays_so_though_it_passed_before(world):
    outcome = world.run(
        call("run_command", command="test ! -e bad"),
        lambda _: world.write("bad", "") and call("run_command", command="rm -r no"),
        call("run_command", command="test ! -e bad"),
        submit(),
        agent=definition(**MENDER),
    )

    assert outcome.verdict.code == "agent_failed"
    assert len(outcome.run.evidence) == 3


def test_another_command_does_not_make_up_for_it(world, agent):
    """Else `echo` would wash any failure away."""
    world.write("status", "1")

    outcome = world.run(
        CHECK, call("run_command", command="echo ok"), submit(), agent=agent
    )

    assert outcome.verdict.code == "agent_failed"


def test_without_the_requirement_the_answer_stands_beside_its_proof(world, agent):
    world.write("status", "1")
    lax = agent.model_copy(update={"require_verified_evidence": False})

    outcome = world.run(CHECK, submit(), agent=lax)

    assert outcome.verdict.code is None
    assert [e["passed"] for e in outcome.verdict.parsed["evidence"]] == [False]


def test_an_answer_in_another_shape_is_held_to_it_too(world, agent):
    """Its value is the caller's and stays as it is; the proof is in the summary."""
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    world.write("status", "1")
    said = call("submit_result", ok=True)

    none = world.run(said, agent=agent, schema=schema)
    failed = world.run(CHECK, said, agent=agent, schema=schema)
    world.write("status", "0")
    passed = world.run(CHECK, said, agent=agent, schema=schema)

    assert none.verdict.code == "unverified"
    assert (failed.verdict.code, failed.verdict.parsed) == (
        "agent_failed",
        {"ok": True},
    )
    assert (passed.verdict.code, passed.verdict.parsed) == (None, {"ok": True})
    assert [e.passed for e in passed.run.evidence] == [True]


def test_a_claim_refers_to_its_call(world, agent):
    """By the id or by the command; without either it is an unverified claim."""
    claims = [
        {"type": "test", "content": "by id", "toolUseId": "call-1"},
        {"type": "test", "content": "by command", "command": "sh check.sh"},
        {"type": "note", "content": "read", "toolUseId": "call-2"},
        {"type": "note", "content": "an opinion", "verified": True},
    ]

    outcome = world.run(
        CHECK,
        call("read_file", path="status"),
        submit(evidence=claims),
        agent=agent,
    )

    told = outcome.verdict.parsed["evidence"]
    assert [(e["content"], e["toolUseId"], e["verified"]) for e in told] == [
        ("by id", "call-1", True),
        ("by command", "call-1", True),
        ("read", "call-2", False),
        ("an opinion", None, False),
        ("exit code 0, 1 bytes of output", "call-1", True),
    ]


@pytest.mark.parametrize(
    ("claim", "complaint"),
    [
        (
            {"type": "t", "content": "x", "command": "pytest"},
            (
                "evidence[0] names the command 'pytest', which was not seen to run "
                "here: run it, or drop the claim"
            ),
        ),
        (
            {"type": "t", "content": "x", "toolUseId": "call-7"},
            "evidence[0] names 'call-7'; the calls are: call-1",
        ),
        (
            {"type": "t", "content": "x", "passed": True, "toolUseId": "call-1"},
            "evidence[0] says that 'sh check.sh' passed, but the call failed",
        ),
    ],
    ids=["command", "id", "outcome"],
)  # fmt: skip
def test_error_a_claim_of_what_did_not_happen(world, agent, claim, complaint):
    world.write("status", "1")

    outcome = world.run(CHECK, submit("failed", evidence=[claim]), agent=agent)

    assert (outcome.verdict.code, outcome.verdict.complaint) == (
        "unverified",
        complaint,
    )


def test_a_command_that_was_refused_is_no_evidence(world, agent):
    outcome = world.run(
        call("run_command", command="echo ok; rm x"),
        call("run_command", command="rm x"),
        submit(),
        agent=agent,
    )

    assert outcome.verdict.code == "unverified"
    assert outcome.run.evidence == ()


def test_a_command_that_ran_out_of_time_is_no_success(world, agent):
    from bridge.agent_loop.job import Limits

    world.write("check.sh", "sleep 9")

    outcome = world.run(CHECK, submit(), agent=agent, limits=Limits(command_s=0.2))

    assert outcome.verdict.code == "agent_failed"
    assert "ended at its time limit" in world.model.results()[0]


VERDICT = {
    "type": "object",
    "required": ["verdict"],
    "properties": {"verdict": {"enum": ["APPROVED", "REJECTED", "NEEDS_REVIEW"]}},
}


@pytest.mark.parametrize("verdict", ["REJECTED", "NEEDS_REVIEW"])
def test_a_verdict_that_approves_nothing_needs_no_proof(world, agent, verdict):
    """A check that failed is why it says so, not a reason to doubt it."""
    world.write("status", "1")
    said = call("submit_result", verdict=verdict)

    outcome = world.run(CHECK, said, agent=agent, schema=VERDICT)

    assert (outcome.verdict.code, outcome.verdict.parsed) == (
        None,
        {"verdict": verdict},
    )


@pytest.mark.parametrize(
    ("status", "words", "verdicts"),
    [
        ("0", ["success", "partial", "blocked"], ["APPROVED", "NEEDS_REVIEW"]),
        ("1", ["failed", "blocked"], ["REJECTED", "NEEDS_REVIEW"]),
    ],
)
def test_a_small_model_is_held_to_what_ran(world, agent, status, words, verdicts):
    """It cannot even write the word that the exit code denies; before, it could."""
    world.write("status", status)

    def offered(name, said, schema=None):
        world.run(CHECK, said, agent=agent, schema=schema, is_small=True)
        found = [shape["anyOf"][-1] for shape in world.model.shapes]
        parts = [shape["properties"]["arguments"]["properties"] for shape in found]
        return [part[name]["enum"] for part in parts]

    said = call("submit_result", verdict=verdicts[0])
    assert offered("status", submit(words[0]))[1:] == [words]
    assert offered("verdict", said, VERDICT) == [
        VERDICT["properties"]["verdict"]["enum"],
        verdicts,
    ]


def test_any_other_model_is_not(world, agent):
    """It may know of a failure that no command shows."""
    outcome = world.run(CHECK, submit("failed", "the log is odd"), agent=agent)

    assert outcome.verdict.code == "agent_failed"
    status = world.model.shapes[1]["anyOf"][-1]["properties"]["arguments"]
    assert "failed" in status["properties"]["status"]["enum"]


def test_what_a_run_gave_is_not_the_agents_to_say(world):
    """Beside `verified: true` it would read as what was seen."""
    claim = {
        "type": "t", "content": "x", "toolUseId": "call-1",
        "exitCode": 7, "outputSha256": "0", "exit_code": 7, "output_sha256": "0",
    }  # fmt: skip

    outcome = world.run(
        call("run_command", command="true"),
        submit(evidence=[claim]),
        agent=definition(allow=("Bash(true)",)),
    )

    first, second = outcome.verdict.parsed["evidence"]
    assert first == {
        "type": "t",
        "content": "x",
        "passed": None,
        "command": "true",
        "toolUseId": "call-1",
        "verified": True,
    }
    assert second["exitCode"] == 0


@pytest.mark.parametrize("name", [["call-1"], {"a": 1}, 5, True])
def test_a_name_of_a_call_is_a_word(world, name):
    """What is typed as a string is one, whatever a server let its model say."""
    claim = {"type": "t", "content": "x", "toolUseId": name}

    outcome = world.run(submit(evidence=[claim]), agent=definition())

    parsed = AgentOutput.model_validate(outcome.verdict.parsed)
    assert parsed.evidence[0].tool_use_id is None
