"""The loop of turns: one tool call a reply, until `submit_result` or a limit.

The model says which tool and with what; everything else is decided here. A reply is
checked again after decoding; what a tool gives back is text for the model and nothing
more; the answer counts only as `evidence` weighs it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import orjson

from bridge.agent_loop.briefing import brief, call_text, result_text
from bridge.agent_loop.chat_model import Message, ModelFailed
from bridge.agent_loop.copied_answer import find_copied_from
from bridge.agent_loop.evidence import Seen, all_evidence, held_to_what_ran, weigh
from bridge.agent_loop.job import Outcome
from bridge.agent_loop.reply_schema import (
    Call,
    NoCall,
    call_shape,
    read_call,
    submit_schema,
)
from bridge.agent_loop.script_tools import Sandbox
from bridge.agent_loop.tool import ToolResult, clipped, refused
from bridge.agent_loop.toolbox import toolbox_of
from bridge.agent_loop.workspace import Project
from bridge.agents.definition import DEFAULT_MAX_TURNS
from bridge.errors import ExtraMissing
from bridge.policy.tool_names import SUBMIT
from bridge.protocol.contract import answer_schema
from bridge.protocol.failure_codes import MEANINGS
from bridge.protocol.json_schema import problem_of, problem_of_schema
from bridge.protocol.judge import Verdict
from bridge.protocol.outcome import Progress
from bridge.protocol.record import printable
from bridge.protocol.response import CHECK, RunSummary

if TYPE_CHECKING:
    from bridge.agent_loop.chat_model import Reply
    from bridge.agent_loop.job import Job
    from bridge.agents.definition import Example, ExampleCall
    from bridge.protocol.outcome import Doing

# Of a task, in a complaint.
_SHOWN_CHARS = 200


def run(job: Job) -> Outcome:
    """Answer a request with the model of `job`, by its deadline.

    Every end is an outcome: what the model, a tool, a script or the model does wrong
    is named in the verdict. The model stays open.
    """
    with Sandbox() as sandbox:
        return _Run(job, sandbox).outcome()


class _Ended(Exception):
    """The run is over without an answer."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        known = code if code in MEANINGS else "agent_error"
        self.verdict = Verdict(code=known, complaint=message)


class _Run:
    """One run: the conversation so far, what was seen to run, what was spent."""

    def __init__(self, job: Job, sandbox: Sandbox) -> None:
        definition = job.definition
        self._job = job
        self._policy = job.policy
        self._began_s = job.clock.monotonic_s()
        schema = _answer_schema(job)
        self._problem = schema and problem_of_schema(schema)
        # A schema that is none, which any program may have asked for, says nothing.
        self._schema = None if self._problem else schema
        self._request = job.request.with_(answer_schema=self._schema)
        project = Project(job.project, is_over=job.stop_check())
        self._box = toolbox_of(job, project, sandbox)
        self._submit = submit_schema(self._schema, self._policy)
        instructions = job.instructions if self._policy.instructions_first else None
        task = job.prompt
        if task is None or instructions is not None:
            task = job.request.asked
        briefing = brief(
            definition,
            self._box.tools,
            self._submit,
            schema=self._schema,
            task=task,
            instructions=instructions,
            policy=self._policy,
        )
        self._messages = list(briefing.messages)
        self._prefix = briefing.prefix
        self._examples = briefing.examples
        self._must_be_verified = bool(
            definition and definition.require_verified_evidence
        )
        self._max_turns = (definition and definition.max_turns) or DEFAULT_MAX_TURNS
        self._turn = 0
        self._raw = ""
        self._seen: list[Seen] = []
        # What the script of submit_result ran.
        self._checks: list[Seen] = []
        self._made: dict[bytes, str] = {}
        # The calls that would give the same again: since, no command has run.
        self._standing: set[bytes] = set()
        self._times: Counter[bytes] = Counter()
        self._repeats = 0
        self._refused = 0
        self._used: Counter[str] = Counter()
        self._spent: Counter[str] = Counter()
        self._tokens_per_s = 0.0

    def outcome(self) -> Outcome:
        for message in self._messages:
            self._log("told", role=message.role, text=message.content)
        try:
            verdict = self._verdict()
        except _Ended as end:
            verdict = end.verdict
            self._log("error", code=verdict.code, message=verdict.complaint)
        passed_s = self._job.clock.monotonic_s() - self._began_s
        return Outcome(
            verdict=verdict,
            raw=self._raw,
            is_degraded=self._job.model.is_small,
            summary=RunSummary(
                model=self._job.model.name,
                turns=self._turn,
                tools=dict(self._used),
                prompt_tokens=self._spent["prompt"],
                cached_tokens=self._spent["cached"],
                tokens=self._spent["said"],
                duration=max(0, round(passed_s * 1000)),
                evidence=all_evidence([*self._seen, *self._checks]),
            ),
        )

    def _verdict(self) -> Verdict:
        if self._problem:
            raise _Ended("AGENT_001", f"the schema of the answer: {self._problem}")
        while self._turn < self._max_turns:
            self._turn += 1
            reply = self._ask()
            call = read_call(reply.text, (*self._offered(), SUBMIT))
            if isinstance(call, NoCall):
                self._say(reply.text, f"error: {call.complaint}")
                self._log("error", code=call.code, message=call.complaint)
                self._count_refused(call.code, call.complaint)
            elif call.tool == SUBMIT:
                if verdict := self._submitted(call):
                    return verdict
            else:
                self._call(call)
        raise _Ended("AGENT_004", f"no answer within {self._max_turns} turns")

    # The model

    def _ask(self) -> Reply:
        job = self._job
        self._check_limits()
        self._tell("thinking")
        self._log("model_request", messages=len(self._messages))
        schemas = {name: tool.parameters for name, tool in self._offered().items()}
        left = job.limits.tokens - self._spent["said"]
        try:
            reply = job.model.reply(
                self._messages,
                call_shape({**schemas, SUBMIT: self._submit_now()}, self._policy),
                prefix=self._prefix,
                max_tokens=min(left, job.limits.reply_tokens),
                deadline_s=job.deadline_s,
                on_tokens=self._on_tokens,
                should_stop=job.is_cancelled,
            )
        except ModelFailed as exc:
            self._check_limits()
            raise _Ended(exc.code, str(exc)) from exc
        self._raw = reply.text
        self._count(reply)
        return reply

    def _offered(self) -> dict[str, Any]:
        """The tools of this turn: none but the answer for a model that only repeats."""
        is_stuck = self._repeats >= self._policy.max_repeats
        return {} if is_stuck else self._box.tools

    def _submit_now(self) -> dict[str, Any]:
        """The answer as it may be given now."""
        if self._policy.is_held_to_rules and self._must_be_verified:
            return held_to_what_ran(self._submit, self._seen)
        return self._submit

    def _check_limits(self) -> None:
        job = self._job
        # The time first: who asked stops waiting at that moment, too, and has cancelled
        # nothing.
        if job.clock.monotonic_s() >= job.deadline_s:
            raise _Ended("AGENT_005", f"the deadline passed in turn {self._turn}")
        if job.is_cancelled():
            raise _Ended("cancelled", "the request was cancelled")
        if self._spent["said"] >= job.limits.tokens:
            raise _Ended("AGENT_004", f"no answer within {job.limits.tokens} tokens")

    def _count(self, reply: Reply) -> None:
        self._spent["prompt"] += reply.prompt_tokens
        self._spent["cached"] += reply.cached_tokens
        self._spent["said"] += reply.tokens
        if reply.seconds > 0:
            self._tokens_per_s = reply.tokens / reply.seconds
        self._log(
            "model_reply",
            text=reply.text,
            tokens=reply.tokens,
            promptTokens=reply.prompt_tokens,
            cachedTokens=reply.cached_tokens,
            ms=round(reply.seconds * 1000),
        )

    # Tools

    def _call(self, call: Call) -> None:
        tool = self._box.tools[call.tool]
        self._used[call.tool] += 1
        tool_use_id = f"call-{self._used.total()}"
        self._log("tool_call", id=tool_use_id, tool=call.tool, arguments=call.arguments)
        key = _key(call)
        began_s = self._job.clock.monotonic_s()
        if problem := problem_of(tool.parameters, call.arguments):
            result = refused(f"{call.tool}: {problem}")
        elif self._is_repeated(key):
            self._repeats += 1
            result = refused(
                f"this is {self._made[key]} again: its result stands above. Do "
                f"something else, or call {SUBMIT}"
            )
        else:
            self._repeats = 0
            self._times[key] += 1
            self._made[key] = tool_use_id
            self._tell("tool", call.tool)
            result = self._carried_out(tool.call, call.arguments)
            self._seen.append(Seen(tool_use_id, call.tool, result))
            if result.ran:
                # It may have mended what failed: let that be run, or read, again.
                self._standing.clear()
            self._standing.add(key)
        text = clipped(printable(result.text), self._job.limits.result_chars)
        passed_s = self._job.clock.monotonic_s() - began_s
        self._log(
            "tool_result",
            id=tool_use_id,
            ok=result.ok,
            text=text,
            ms=round(passed_s * 1000),
        )
        if self._repeats and not self._policy.shows_repeats:
            return
        said = call_text(call.tool, call.arguments)
        self._say(said, result_text(call.tool, tool_use_id, text))

    def _is_repeated(self, key: bytes) -> bool:
        most = self._policy.max_same_calls
        return key in self._standing or (most is not None and self._times[key] >= most)

    def _carried_out(self, tool: Any, arguments: dict[str, Any]) -> ToolResult:
        try:
            result: ToolResult = tool(arguments)
        except ExtraMissing as exc:
            raise _Ended("AGENT_001", str(exc)) from None
        except OSError as exc:
            return refused(exc)
        return result

    # The answer

    def _submitted(self, call: Call) -> Verdict | None:
        """The verdict that ends the run; None where the model may try again."""
        self._tell("checking", SUBMIT)
        verdict = self._weighed(call)
        self._log(
            "submit_result",
            arguments=call.arguments,
            code=verdict.code,
            complaint=verdict.complaint,
        )
        if verdict.is_valid:
            return verdict
        self._say(
            call_text(SUBMIT, call.arguments),
            f"error: the answer does not count: {verdict.complaint}",
        )
        code = str(verdict.code)
        self._repeats = 0 if code == "unverified" else self._repeats
        self._count_refused(
            "AGENT_003" if code == "schema_mismatch" else code, verdict.complaint
        )
        return None

    def _weighed(self, call: Call) -> Verdict:
        verdict = weigh(
            self._request,
            call.arguments,
            self._seen,
            agent_id=f"{self._job.model.name}:{self._request.request_id}",
            must_be_verified=self._must_be_verified,
            now_ms=self._job.clock.now_us() // 1000,
        )
        if verdict.is_valid and (example := self._copied_from(call.arguments)):
            task = clipped(self._request.asked, _SHOWN_CHARS)
            return Verdict(
                code="prompt_echo",
                complaint=f"this is the answer of the example {example.prompt!r}, word "
                f"for word; answer the task: {task!r}",
            )
        if verdict.is_valid and self._box.check is not None:
            result = self._carried_out(self._box.check, call.arguments)
            self._checks.append(Seen(f"{CHECK}{self._turn}", SUBMIT, result))
            if result.ran:
                self._standing.clear()
            if not result.ok:
                return _refused_by_script(result)
        return verdict

    def _copied_from(self, answer: Any) -> Example | None:
        return find_copied_from(
            answer,
            self._examples,
            task=self._request.asked,
            schema=answer_schema(self._schema),
            gave=self._gave,
        )

    def _gave(self, call: ExampleCall) -> ToolResult | None:
        """What a call with these arguments gave, where there was one."""
        made = self._made.get(_key(call))
        return next((s.result for s in self._seen if s.tool_use_id == made), None)

    def _count_refused(self, code: str, complaint: str) -> None:
        self._refused += 1
        if self._refused > self._job.limits.corrections:
            raise _Ended(code, complaint)

    # What is told

    def _say(self, said: str, answered: str) -> None:
        self._messages.append(Message("assistant", said))
        self._messages.append(Message("user", printable(answered)))

    def _tell(self, doing: Doing, tool: str | None = None, tokens: int = 0) -> None:
        self._job.on_progress(
            Progress(
                doing, self._turn, self._max_turns, tool, tokens, self._tokens_per_s
            )
        )

    def _on_tokens(self, tokens: int, seconds: float) -> None:
        self._tokens_per_s = tokens / seconds if seconds > 0 else 0.0
        self._tell("thinking", tokens=tokens)

    def _log(self, event: str, **facts: Any) -> None:
        self._job.log({"event": event, "turn": self._turn, **facts})


def _refused_by_script(result: ToolResult) -> Verdict:
    """An answer that its definition's own script says no to, or fails at."""
    if result.is_crash:
        return Verdict(
            code="AGENT_001",
            complaint=f"the script of {SUBMIT} failed: {result.text}",
        )
    return Verdict(
        code="AGENT_003", complaint=f"the script of {SUBMIT} refused it: {result.text}"
    )


def _key(call: Call | ExampleCall) -> bytes:
    """The same for the same call of a tool."""
    return orjson.dumps([call.tool, call.arguments], option=orjson.OPT_SORT_KEYS)


def _answer_schema(job: Job) -> dict[str, Any] | None:
    """What the answer must satisfy: the caller's, the agent's; None for AgentOutput."""
    definition = job.definition
    if job.request.answer_schema is not None or definition is None:
        return job.request.answer_schema
    if definition.output_schema is not None:
        return definition.output_schema
    own = (t.parameters for t in definition.script_tools if t.name == SUBMIT)
    return next(own, None)
