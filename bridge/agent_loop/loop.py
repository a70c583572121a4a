"""The agent loop: one tool call per reply, until `submit_result` or a limit.

The model chooses only a tool and its arguments. Each reply is checked again after
decoding, a tool's result is only text for the model, and `evidence` decides what the
answer is worth.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

from bridge.agent_loop import reply_schema
from bridge.agent_loop.briefing import brief, call_text, result_text
from bridge.agent_loop.call_history import CallHistory
from bridge.agent_loop.chat_model import ChatRequest, Message, ModelFailed, ModelReply
from bridge.agent_loop.copied_answer import find_copied_from
from bridge.agent_loop.ended_run import RunEnded, carry_out
from bridge.agent_loop.evidence import (
    ToolRun,
    all_evidence,
    consistent_schema,
    judge_submitted,
)
from bridge.agent_loop.job import Job
from bridge.agent_loop.script_tools import Sandbox
from bridge.agent_loop.tool import Tool, ToolResult, clipped, refused
from bridge.agent_loop.toolbox import Toolbox
from bridge.agent_loop.workspace import Project
from bridge.agents.definition import DEFAULT_MAX_TURNS
from bridge.policy.tool_names import SUBMIT
from bridge.protocol.contract import answer_schema
from bridge.protocol.json_schema import problem_of, problem_of_schema
from bridge.protocol.judge import Judgement
from bridge.protocol.outcome import Doing, Outcome, Progress
from bridge.protocol.record import printable
from bridge.protocol.response import CHECK, RunSummary

# How much of the task a complaint quotes.
_QUOTED_CHARS = 200


def run(job: Job) -> Outcome:
    """Answer a request with the model of `job`, by its deadline.

    Every end is an outcome with a verdict: it says what the model, a tool or a script
    did wrong. The model stays open.
    """
    with Sandbox() as sandbox:
        return _Run(job, sandbox).outcome()


class _Run:
    """One run: the conversation so far, its tool calls, and what it has used up."""

    def __init__(self, job: Job, sandbox: Sandbox) -> None:
        self._job = job
        self._policy = job.policy
        self._began_s = job.clock.monotonic_s()
        schema = job.wanted_schema
        # Any program may have dropped the request, without a check.
        self._problem = schema and problem_of_schema(schema)
        self._schema = None if self._problem else schema
        self._request = job.request.with_(answer_schema=self._schema)
        project = Project(job.project, is_over=job.is_over)
        self._toolbox = Toolbox(job, project, sandbox)
        self._submit = reply_schema.submit_schema(self._schema, self._policy)
        instructions = job.instructions if self._policy.instructions_first else None
        is_rendered = job.prompt is not None and instructions is None
        self._briefing = brief(
            job.definition,
            self._toolbox.tools,
            self._submit,
            schema=self._schema,
            task=job.with_steps(str(job.prompt) if is_rendered else job.request.asked),
            instructions=instructions,
            policy=self._policy,
        )
        self._messages = list(self._briefing.messages)
        self._must_be_verified = job.definition.require_verified_evidence
        self._max_turns = job.definition.max_turns or DEFAULT_MAX_TURNS
        self._turn = 0
        self._replies: list[ModelReply] = []
        self._history = CallHistory(self._policy)
        # The runs of the script of submit_result.
        self._checks: list[ToolRun] = []
        self._mistakes = 0
        self._uses: Counter[str] = Counter()
        self._tokens_per_s = 0.0

    def outcome(self) -> Outcome:
        for message in self._messages:
            self._log("told", role=message.role, text=message.content)
        try:
            verdict = self._verdict()
        except RunEnded as end:
            verdict = end.verdict
            self._log("error", code=verdict.code, message=verdict.complaint)
        model, replies = self._job.model, self._replies
        return Outcome(
            words=replies[-1].text if replies else "",
            verdict=verdict,
            model=model.name,
            degraded=model.is_small,
            run=RunSummary(
                model=model.name,
                turns=self._turn,
                tools=dict(self._uses),
                prompt_tokens=sum(reply.prompt_tokens for reply in replies),
                cached_tokens=sum(reply.cached_tokens for reply in replies),
                tokens=self._spent_tokens(),
                duration=self._ms_since(self._began_s),
                evidence=all_evidence([*self._history.runs, *self._checks]),
            ),
        )

    def _verdict(self) -> Judgement:
        if self._problem:
            raise RunEnded("bad_request", f"the schema of the answer: {self._problem}")
        while self._turn < self._max_turns:
            self._turn += 1
            reply = self._ask()
            call = reply_schema.read_call(reply.text, (*self._offered(), SUBMIT))
            if isinstance(call, reply_schema.NoCall):
                self._log("error", code=call.code, message=call.complaint)
                self._add(reply.text, f"error: {call.complaint}")
                self._count_mistake(call.code, call.complaint)
            elif call.tool == SUBMIT:
                if verdict := self._submitted(call):
                    return verdict
            else:
                self._call(call)
        raise RunEnded("turn_limit", f"no answer within {self._max_turns} turns")

    # The model

    def _ask(self) -> ModelReply:
        job = self._job
        self._check_limits()
        self._report("thinking")
        self._log("model_request", messages=len(self._messages))
        schemas = {name: tool.parameters for name, tool in self._offered().items()}
        if self._policy.is_held_to_rules and self._must_be_verified:
            schemas[SUBMIT] = consistent_schema(self._submit, self._history.runs)
        else:
            schemas[SUBMIT] = self._submit
        left = job.limits.tokens - self._spent_tokens()
        try:
            reply = job.model.reply(
                ChatRequest(
                    messages=self._messages,
                    shape=reply_schema.call_shape(schemas, self._policy),
                    prefix=self._briefing.prefix,
                    max_tokens=min(left, job.limits.reply_tokens),
                    deadline_s=job.deadline_s,
                    on_tokens=self._on_tokens,
                    should_stop=job.is_cancelled,
                )
            )
        except ModelFailed as exc:
            self._check_limits()
            raise RunEnded(exc.code, str(exc)) from exc
        self._replies.append(reply)
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
        return reply

    def _offered(self) -> dict[str, Tool]:
        """The tools of this turn: none for a model that only repeats itself."""
        return {} if self._history.is_stuck else self._toolbox.tools

    def _check_limits(self) -> None:
        job = self._job
        # The deadline comes first: the caller stops waiting at the same moment, which
        # is no cancellation.
        if job.clock.monotonic_s() >= job.deadline_s:
            raise RunEnded("timeout", f"the deadline passed in turn {self._turn}")
        if job.is_cancelled():
            raise RunEnded("cancelled", "the request was cancelled")
        if self._spent_tokens() >= job.limits.tokens:
            raise RunEnded("turn_limit", f"no answer within {job.limits.tokens} tokens")

    def _spent_tokens(self) -> int:
        return sum(reply.tokens for reply in self._replies)

    # Tools

    def _call(self, call: reply_schema.RequestedCall) -> None:
        tool = self._toolbox.tools[call.tool]
        self._uses[call.tool] += 1
        tool_use_id = f"call-{self._uses.total()}"
        self._log("tool_call", id=tool_use_id, tool=call.tool, arguments=call.arguments)
        began_s = self._job.clock.monotonic_s()
        if problem := problem_of(tool.parameters, call.arguments):
            result = refused(f"{call.tool}: {problem}")
        elif earlier := self._history.find_repeated(call):
            self._history.repeats += 1
            result = refused(
                f"this repeats {earlier.tool_use_id}, whose result stands above. Do "
                f"something else, or call {SUBMIT}"
            )
        else:
            self._report("tool", call.tool)
            result = self._ruled(tool, call, tool_use_id)
        text = clipped(printable(result.text), self._job.limits.result_chars)
        ms = self._ms_since(began_s)
        self._log("tool_result", id=tool_use_id, ok=result.ok, text=text, ms=ms)
        if not self._history.repeats or self._policy.shows_repeats:
            self._add(
                call_text(call.tool, call.arguments),
                result_text(call.tool, tool_use_id, text),
            )

    def _ruled(
        self, tool: Tool, call: reply_schema.RequestedCall, tool_use_id: str
    ) -> ToolResult:
        """Carry out a call, if rules let it, with what they say about it."""
        asked = self._job.on_host(call.tool, call.arguments)
        asked["tool_use_id"] = tool_use_id
        ruling = self._job.ask_rules("PreToolUse", **asked)
        texts = [ruling.context]
        if ruling.block is not None:
            result = refused(ruling.block)
        else:
            if not self._toolbox.is_script(tool.name):
                self._job.note_look(asked["tool_name"], asked["tool_input"])
            result = carry_out(tool.call, call.arguments)
            self._history.add(call, ToolRun(tool_use_id, call.tool, result))
            event = "PostToolUse" if result.ok else "PostToolUseFailure"
            field = "tool_response" if result.ok else "error"
            after = self._job.ask_rules(event, **asked, **{field: result.text})
            texts.append(after.context)
            if after.told is not None:
                after.told()
        return replace(result, text="\n\n".join(filter(None, [result.text, *texts])))

    # The answer

    def _submitted(self, call: reply_schema.RequestedCall) -> Judgement | None:
        """The verdict that ends the run; None if the model may try again."""
        self._report("checking", SUBMIT)
        verdict = self._judged(call)
        code, why = verdict.code, verdict.complaint
        self._log("submit_result", arguments=call.arguments, code=code, complaint=why)
        if verdict.is_valid:
            said = call_text(SUBMIT, call.arguments)
            held = self._job.ask_rules("SubagentStop", last_assistant_message=said)
            if held.block is None:
                return verdict
            self._add(said, f"error: not yet: {held.block}")
            return None
        answer = call_text(SUBMIT, call.arguments)
        self._add(answer, f"error: the answer does not count: {why}")
        if code == "unverified":
            # To be verified, it needs its tools again.
            self._history.repeats = 0
        self._count_mistake(str(code), verdict.detail)
        return None

    def _judged(self, call: reply_schema.RequestedCall) -> Judgement:
        verdict = judge_submitted(
            self._request,
            call.arguments,
            self._history.runs,
            agent_id=f"{self._job.model.name}:{self._request.request_id}",
            must_be_verified=self._must_be_verified,
            now_ms=self._job.clock.now_us() // 1000,
        )
        if not verdict.is_valid:
            return verdict
        example = find_copied_from(
            call.arguments,
            self._briefing.examples,
            task=self._request.asked,
            schema=answer_schema(self._schema),
            result_of=self._history.result_of,
        )
        if example:
            task = clipped(self._request.asked, _QUOTED_CHARS)
            return Judgement(
                code="prompt_echo",
                complaint="this is word for word the answer of the example "
                f"{example.prompt!r}; answer the task: {task!r}",
                told=f"it is the answer of the example {example.prompt!r}",
            )
        if self._toolbox.check is not None:
            result = carry_out(self._toolbox.check, call.arguments)
            self._checks.append(ToolRun(f"{CHECK}{self._turn}", SUBMIT, result))
            self._history.after(result)
            if not result.ok:
                how = "failed" if result.is_crash else "refused it"
                return Judgement(
                    code="bad_definition" if result.is_crash else "check_failed",
                    complaint=f"the script of {SUBMIT} {how}: {result.text}",
                )
        return verdict

    def _count_mistake(self, code: str, complaint: str) -> None:
        self._mistakes += 1
        if self._mistakes > self._job.limits.corrections:
            raise RunEnded(code, complaint)

    # Conversation, progress, log

    def _add(self, reply: str, answer: str) -> None:
        self._messages.append(Message("assistant", reply))
        self._messages.append(Message("user", printable(answer)))

    def _report(self, doing: Doing, tool: str | None = None, tokens: int = 0) -> None:
        self._job.on_progress(
            Progress(
                doing, self._turn, self._max_turns, tool, tokens, self._tokens_per_s
            )
        )

    def _on_tokens(self, tokens: int, seconds: float) -> None:
        self._tokens_per_s = tokens / seconds if seconds > 0 else 0.0
        self._report("thinking", tokens=tokens)

    def _log(self, event: str, **facts: Any) -> None:
        self._job.log({"event": event, "turn": self._turn, **facts})

    def _ms_since(self, began_s: float) -> int:
        return max(0, round((self._job.clock.monotonic_s() - began_s) * 1000))
