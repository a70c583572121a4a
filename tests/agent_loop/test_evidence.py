"""What a small model says is not evidence: what ran is."""

import hashlib

import pytest
from runworld import call, definition, runs, submit

from bridge.agent_loop.job import RunLimits
from bridge.protocol.agent_output import AgentOutput

CHECK = runs("sh check.sh")
OWN_STATUS = {"type": "object", "properties": {"status": {}, "evidence": {}}}
OWN_FIELD = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
STATUS_AND_VERDICT = {"type": "object", "properties": {"status": {}, "verdict": {}}}
VERDICT = {
    "type": "object",
    "required": ["verdict"],
    "properties": {"verdict": {"enum": ["APPROVED", "REJECTED", "NEEDS_REVIEW"]}},
}
# Unproved, after a command that failed, and after one that passed.
CLAIMS = ("unverified", "agent_failed", None)
UNVERIFIED = (
    "nothing was seen to run, so this answer rests on nothing: run what shows it, or "
    "say that you are blocked"
)


def verifying(*allow: str):
    return definition(allow=allow, require_verified_evidence=True)


@pytest.fixture
def agent(world):
    """It may run `check.sh`, which exits with the number in the file `status`."""
    world.write("check.sh", "cat status; exit $(cat status)")
    world.write("status", "0")
    return verifying("Bash(sh check.sh)", "Bash(echo *)")


def test_what_ran_is_attached(world, agent):
    """Command, exit code and digest, whatever the model claims or leaves out."""
    outcome = world.run(CHECK, submit(), agent=agent)

    assert outcome.verdict.code is None
    assert outcome.verdict.parsed["evidence"] == [
        {
            "type": "command",
            "content": "exit code 0, 1 bytes of output",
            "passed": True,
            "command": "sh check.sh",
            "toolUseId": "call-1",
            "verified": True,
            "exitCode": 0,
            "outputSha256": hashlib.sha256(b"0").hexdigest(),
        }
    ]
    assert outcome.run.evidence[0].command == "sh check.sh"


@pytest.mark.parametrize(
    ("calls", "answer"),
    [
        ((), submit(summary="all tests passed")),
        ((call("read_file", path="check.sh"),), submit()),
        ((runs("echo ok; rm x"),), submit()),
        ((runs("rm x"),), submit()),
        # A failure claims an exit code, and there is none.
        ((runs("rm x"),), submit("failed", "exited with 1")),
    ],
    ids=["nothing-ran", "read", "shell", "not-granted", "failed-not-granted"],
)
@pytest.mark.parametrize("is_small", [True, False])
def test_error_nothing_was_seen_to_run(world, agent, calls, answer, is_small):
    """Tiny models say "passed" unasked."""
    outcome = world.run(*calls, answer, agent=agent, is_small=is_small)

    assert outcome.verdict.code == "unverified"
    assert outcome.verdict.detail == "nothing was seen to run"
    assert UNVERIFIED in world.model.results()[-1]
    assert outcome.verdict.parsed is None
    assert outcome.run.evidence == ()


def test_to_be_blocked_needs_no_proof(world, agent):
    said = submit("failed", "cannot run it"), submit("blocked", "not granted")
    outcome = world.run(*said, agent=agent)

    assert outcome.verdict.code == "agent_blocked"
    assert outcome.verdict.parsed["summary"] == "not granted"


@pytest.mark.parametrize(
    ("schema", "answer", "codes"),
    [
        # `status` is our word in a caller's schema, too.
        (OWN_STATUS, {"status": "failed"}, ("unverified", None, None)),
        (OWN_FIELD, {"ok": True}, CLAIMS),
        # A verdict that approves nothing claims nothing.
        (VERDICT, {"verdict": "REJECTED"}, (None, None, None)),
        (VERDICT, {"verdict": "NEEDS_REVIEW"}, (None, None, None)),
        (VERDICT, {"verdict": "APPROVED"}, CLAIMS),
        # Beside `status: success`, which everybody reads, it takes nothing back.
        (STATUS_AND_VERDICT, {"status": "success", "verdict": "REJECTED"}, CLAIMS),
        (OWN_STATUS, {"status": "success", "verdict": "NEEDS_REVIEW"}, CLAIMS),
    ],
)
def test_an_answer_with_the_callers_schema(world, agent, schema, answer, codes):
    """Its value stays as it is; the proof is in the summary of the run."""
    said = call("submit_result", **answer)

    unproved = world.run(said, agent=agent, schema=schema)
    world.write("status", "1")
    failed = world.run(CHECK, said, agent=agent, schema=schema)
    world.write("status", "0")
    passed = world.run(CHECK, said, agent=agent, schema=schema)

    runs = (unproved, failed, passed)
    assert tuple(run.verdict.code for run in runs) == codes
    assert failed.verdict.parsed == passed.verdict.parsed == answer
    assert [e.passed for e in passed.run.evidence] == [True]


@pytest.mark.parametrize("claim", ["success", "partial"])
def test_error_success_is_claimed_after_a_failure(world, agent, claim):
    world.write("status", "3")

    outcome = world.run(CHECK, submit(claim, "all passed"), agent=agent)

    assert outcome.verdict.code == "agent_failed"
    assert outcome.verdict.parsed["status"] == "failed"
    assert outcome.verdict.complaint == (
        "success was claimed, but 'sh check.sh' failed: exit code 3, 1 bytes of output"
    )


@pytest.mark.parametrize("rerun", ["test ! -e bad", "test  !  -e 'bad'"])
def test_a_failure_may_be_repaired_and_run_again(world, rerun):
    """The last run of a command counts, however it is quoted."""
    world.write("bad", "")

    outcome = world.run(
        runs("test ! -e bad"),
        runs("rm bad"),
        runs(rerun),
        submit(),
        agent=verifying("Bash(test *)", "Bash(rm *)"),
    )

    assert outcome.verdict.code is None
    evidence = outcome.verdict.parsed["evidence"]
    assert [e["passed"] for e in evidence] == [False, True, True]


def test_error_it_passed_first_and_failed_later(world):
    outcome = world.run(
        runs("test ! -e bad"),
        lambda _: world.write("bad", "") and runs("rm -r no"),
        runs("test ! -e bad"),
        submit(),
        agent=verifying("Bash(test *)", "Bash(rm *)"),
    )

    assert outcome.verdict.code == "agent_failed"
    assert len(outcome.run.evidence) == 3


def test_error_another_command_does_not_make_up_for_a_failure(world, agent):
    """Otherwise `echo` would wash any failure away."""
    world.write("status", "1")

    outcome = world.run(CHECK, runs("echo ok"), submit(), agent=agent)

    assert outcome.verdict.code == "agent_failed"


def test_without_the_requirement_the_answer_stands_beside_its_proof(world, agent):
    world.write("status", "1")
    lax = agent.model_copy(update={"require_verified_evidence": False})

    outcome = world.run(CHECK, submit(), agent=lax)

    assert outcome.verdict.code is None
    assert [e["passed"] for e in outcome.verdict.parsed["evidence"]] == [False]


def test_a_claim_refers_to_a_call(world, agent):
    """By the call's id or by its command; any other claim is unverified."""
    claims = [
        {"type": "test", "content": "by id", "toolUseId": "call-1"},
        {"type": "test", "content": "by command", "command": "sh check.sh"},
        {"type": "note", "content": "read", "toolUseId": "call-2"},
        {"type": "note", "content": "an opinion", "verified": True},
    ]

    outcome = world.run(
        CHECK, call("read_file", path="status"), submit(evidence=claims), agent=agent
    )

    evidence = outcome.verdict.parsed["evidence"]
    assert [(e["content"], e["toolUseId"], e["verified"]) for e in evidence] == [
        ("by id", "call-1", True),
        ("by command", "call-1", True),
        ("read", "call-2", False),
        ("an opinion", None, False),
        ("exit code 0, 1 bytes of output", "call-1", True),
    ]


UNSEEN = "names the command 'pytest', which was not seen to run here"
UNTRUE = "says that 'sh check.sh' passed, but the call failed"


@pytest.mark.parametrize(
    ("claim", "complaint"),
    [
        ({"command": "pytest"}, UNSEEN),
        ({"toolUseId": "call-7"}, "names 'call-7'; the calls are: call-1"),
        ({"passed": True, "toolUseId": "call-1"}, UNTRUE),
    ],
)
def test_error_a_claim_of_what_did_not_happen(world, agent, claim, complaint):
    world.write("status", "1")
    evidence = [{"type": "t", "content": "x", **claim}]

    outcome = world.run(CHECK, submit("failed", evidence=evidence), agent=agent)

    assert outcome.verdict.code == "unverified"
    assert outcome.verdict.detail == f"evidence[0] {complaint}"
    assert f"evidence[0] {complaint}" in world.model.results()[-1]


def test_error_a_command_at_its_time_limit_did_not_succeed(world, agent):
    world.write("check.sh", "sleep 36000")

    outcome = world.run(CHECK, submit(), agent=agent, limits=RunLimits(command_s=0.2))

    assert outcome.verdict.code == "agent_failed"
    assert "ended at its time limit" in world.model.results()[0]


@pytest.mark.parametrize(
    ("status", "words", "verdicts"),
    [
        ("0", ["success", "partial", "blocked"], ["APPROVED", "NEEDS_REVIEW"]),
        ("1", ["failed", "blocked"], ["REJECTED", "NEEDS_REVIEW"]),
    ],
)
def test_a_small_model_cannot_contradict_what_ran(
    world, agent, status, words, verdicts
):
    """It cannot even write the word that the exit code denies."""
    world.write("status", status)

    def offered(name, said, schema=None):
        world.run(CHECK, said, agent=agent, schema=schema, is_small=True)
        found = [shape["anyOf"][-1] for shape in world.model.shapes]
        parts = [shape["properties"]["arguments"]["properties"] for shape in found]
        return [part[name]["enum"] for part in parts]

    said = call("submit_result", verdict=verdicts[0])
    assert offered("status", submit(words[0]))[1:] == [words]
    expected = [VERDICT["properties"]["verdict"]["enum"], verdicts]
    assert offered("verdict", said, VERDICT) == expected


def test_another_model_may_report_a_failure_that_no_command_shows(world, agent):
    outcome = world.run(CHECK, submit("failed", "the log is odd"), agent=agent)

    assert outcome.verdict.code == "agent_failed"
    assert outcome.verdict.complaint == "the log is odd"
    arguments = world.model.shapes[1]["anyOf"][-1]["properties"]["arguments"]
    assert "failed" in arguments["properties"]["status"]["enum"]


def test_exit_code_and_digest_are_not_the_agents_to_say(world):
    """Beside `verified: true` they would read as what was seen."""
    claim = {"type": "t", "content": "x", "toolUseId": "call-1"}
    invented = {"exitCode": 7, "outputSha256": "0", "exit_code": 7, "output_sha256": ""}

    outcome = world.run(
        runs("true"),
        submit(evidence=[claim | invented]),
        agent=definition(allow=("Bash(true)",)),
    )

    first, second = outcome.verdict.parsed["evidence"]
    assert first == {**claim, "passed": None, "command": "true", "verified": True}
    assert second["exitCode"] == 0


@pytest.mark.parametrize("name", [["call-1"], {"a": 1}, 5, True])
def test_the_id_of_a_call_is_a_string(world, name):
    """A server may let its model write something else."""
    claim = {"type": "t", "content": "x", "toolUseId": name}

    outcome = world.run(submit(evidence=[claim]), agent=definition())

    parsed = AgentOutput.model_validate(outcome.verdict.parsed)
    assert parsed.evidence[0].tool_use_id is None
