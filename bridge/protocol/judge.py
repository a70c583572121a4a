"""Judge an agent's last message: find the JSON in it, check it, say what is wrong.

Pure. The complaint about a rejected answer is written for the agent, which may try
again. The message is untrusted: its size and depth are bounded.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

from bridge.protocol import plain_json
from bridge.protocol.agent_output import AgentOutput
from bridge.protocol.claimed_commands import ToolCall, is_verified, with_what_was_seen
from bridge.protocol.contract import HEADING, answer_schema
from bridge.protocol.embedded_json import Invalid, find_json
from bridge.protocol.failure_codes import FailureCode
from bridge.protocol.question import MOST, Asked, is_question, read_question
from bridge.protocol.request import Request
from bridge.protocol.response import Failure
from bridge.protocol.status import Stage
from bridge.protocol.wording import squeezed

# Far more than a model can say in one message. Checking it must fit into a hook's time.
MAX_ANSWER_CHARS = 4_000_000
_ECHO_FROM = 80
_FILLED_IN = frozenset(
    {"agentId", "agent_id", "taskId", "task_id", "timestamp"}
    | {"toolUseId", "tool_use_id", "verified"}
)
# Our own loop adds these to the evidence of a command that it ran.
_SEEN = frozenset({"exitCode", "exit_code", "outputSha256", "output_sha256"})


class Judgement(NamedTuple):
    """The result of judging an answer.

    `code` is None for a valid answer, `agent_failed` or `agent_blocked` for a valid
    answer that reports trouble (`parsed` is set), and another code for any other.
    `complaint` says to the agent what to correct. `told` is for people, who read it
    after what the code means; by default it is the complaint. `question` is what the
    agent asks instead of answering; a caller that cannot pass questions on treats it
    as an answer of the wrong form.
    """

    parsed: Any = None
    code: FailureCode | None = None
    complaint: str = ""
    told: str | None = None
    question: Asked | None = None

    @property
    def detail(self) -> str:
        """What is wrong, for people."""
        return self.complaint if self.told is None else self.told

    @property
    def is_valid(self) -> bool:
        """Whether there is a typed answer."""
        return self.code in (None, "agent_failed", "agent_blocked")

    def failure_at(self, stage: Stage) -> Failure | None:
        """The failure for the record; None for a success."""
        if self.code is None:
            return None
        return Failure(code=self.code, message=self.detail, stage=stage)


def judge(
    request: Request,
    words: str,
    *,
    calls: Sequence[ToolCall] | None = None,
    agent_id: str | None = None,
    now_ms: int = 0,
    must_verify: bool = False,
) -> Judgement:
    """Judge the agent's last message as an answer to `request`.

    `calls` are the agent's tool calls that were seen; None if nobody could see any.
    With `must_verify`, success needs evidence of a command that was seen to succeed.
    """
    words = words.lstrip("\ufeff")
    if not words.replace("\ufeff", "").strip():
        return Judgement(
            code="empty_answer", complaint="the last message was empty", told=""
        )
    if len(words) > MAX_ANSWER_CHARS:
        return Judgement(
            code="schema_mismatch",
            complaint=f"the answer has {len(words):,} characters; "
            f"{MAX_ANSWER_CHARS:,} is the limit",
        )
    verdict = _choose(request, words)
    if not verdict.is_valid:
        return verdict
    schema = request.answer_schema
    if must_verify and not is_verified(verdict.parsed, schema, calls or ()):
        return Judgement(
            code="unverified",
            complaint="success needs evidence: run the command, and name it in the "
            "`command` of an `evidence` item, letter for letter; or say how it failed",
            told="it claims success, and names no command that was seen to succeed",
        )
    if schema is not None:
        return verdict
    return _check_output(
        request, verdict.parsed, calls=calls, agent_id=agent_id, now_ms=now_ms
    )


def _choose(request: Request, words: str) -> Judgement:
    """Pick the one value in `words` that satisfies the schema."""
    schema = answer_schema(request.answer_schema)
    prompts = dict.fromkeys((request.prompt, request.spoken))
    # Compared as bytes: in Python, 1 and True are equal.
    said = list(find_json(words))
    values = {_bytes(v): v for v in said if not isinstance(v, Invalid)}
    values.pop(_bytes(schema), None)
    if any(_is_echo(prompt, words) for prompt in prompts):
        for value in chain.from_iterable(map(find_json, prompts)):
            if not isinstance(value, Invalid):
                values.pop(_bytes(value), None)
        if not values:
            return Judgement(
                code="prompt_echo",
                complaint="the last message repeats the prompt instead of answering it",
                told="",
            )
    found = list(values.values())
    if request.may_ask and (asks := list(filter(is_question, found))):
        others = [value for value in found if not is_question(value)]
        has_answer = bool(others) and None in _problems_of(
            request.answer_schema, others
        )
        return _question(request, asks, has_answer=has_answer)
    if not found:
        why = next((v.problem for v in said if isinstance(v, Invalid)), None)
        complaint = why or "the last message holds no JSON value"
        return Judgement(code="no_json", complaint=complaint, told=why or "")
    problems = _problems_of(request.answer_schema, found)
    valid = [v for v, problem in zip(found, problems, strict=True) if problem is None]
    if len(valid) == 1:
        return Judgement(parsed=valid[0])
    if not valid:
        return Judgement(code="schema_mismatch", complaint=problems[0] or "")
    count = f"holds {len(valid)} different JSON values that satisfy the schema"
    return Judgement(
        code="schema_mismatch",
        complaint=f"the last message {count}; send exactly one",
        told=f"its last message {count}, where one was due",
    )


def _question(
    request: Request, asks: list[dict[str, Any]], *, has_answer: bool
) -> Judgement:
    """The verdict on questions of an agent that may ask: only a single one counts.

    Beside an answer, the question may be a quotation of something that the agent read:
    it is not passed on.
    """
    asked = read_question(asks[0])
    if has_answer:
        asked = "the last message holds an answer and a question; send exactly one"
    elif len(asks) > 1:
        asked = "the last message asks several questions; put them into one"
    elif not request.may_still_ask:
        asked = f"{MOST} questions are the most, and you have asked them: answer now"
    if isinstance(asked, str):
        return Judgement(code="schema_mismatch", complaint=asked)
    complaint = f"it asks: {asked.words}"
    return Judgement(code="schema_mismatch", complaint=complaint, question=asked)


def _is_echo(prompt: str, words: str) -> bool:
    if HEADING in words:
        return True
    said, asked = squeezed(words), squeezed(prompt)
    return said == asked or (len(asked) >= _ECHO_FROM and asked in said)


def _bytes(value: Any) -> bytes:
    return plain_json.dumps(value, sort_keys=True)


def _problems_of(
    schema: dict[str, Any] | None, values: Sequence[Any]
) -> Sequence[str | None]:
    # Importing the JSON Schema library takes a hook's time; this seldom needs it.
    if schema is None and all(
        isinstance(value, dict) and AgentOutput.fits(_own_words(value))
        for value in values
    ):
        return [None] * len(values)
    from bridge.protocol.json_schema import problems_of

    return problems_of(answer_schema(schema), values)


def _check_output(
    request: Request,
    value: dict[str, Any],
    *,
    calls: Sequence[ToolCall] | None,
    agent_id: str | None,
    now_ms: int,
) -> Judgement:
    """Fill in what the bridge knows, and reject evidence of calls that nobody saw."""
    output = AgentOutput.model_validate(_own_words(value))
    evidence = with_what_was_seen(output.evidence, calls)
    if isinstance(evidence, str):
        complaint = f"{evidence}: run it, or drop the claim"
        return Judgement(code="unverified", complaint=complaint, told=evidence)
    parsed = output.with_(
        evidence=evidence, agent_id=agent_id, task_id=request.task_id, timestamp=now_ms
    ).to_data()
    if output.status == "failed":
        return Judgement(parsed, "agent_failed", output.summary)
    if output.status == "blocked":
        return Judgement(parsed, "agent_blocked", output.summary)
    return Judgement(parsed)


def _own_words(value: dict[str, Any]) -> dict[str, Any]:
    """The answer without the keys that the bridge fills in itself."""
    kept = {key: part for key, part in value.items() if key not in _FILLED_IN}
    evidence = value.get("evidence")
    if isinstance(evidence, list):
        kept["evidence"] = [
            {k: part for k, part in item.items() if k not in _FILLED_IN | _SEEN}
            if isinstance(item, dict)
            else item
            for item in evidence
        ]
    return kept
