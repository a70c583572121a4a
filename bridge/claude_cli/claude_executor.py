"""Answer a request by `claude -p`: a client for one request, ended with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from bridge.agents.lint import why_bash_is_idle, words_of
from bridge.bound.agent_limits import limits_of
from bridge.claude_cli.command import (
    command_line,
    prompt_of,
    structured_schema,
    wanted_model,
)
from bridge.claude_cli.model_key import key_of_client
from bridge.claude_cli.printed_result import read_output, session_in
from bridge.freshness.looks import Look
from bridge.freshness.memory_files import of_client
from bridge.freshness.repository import with_repository
from bridge.policy.tool_names import on_host
from bridge.process import run
from bridge.protocol.contract import full_prompt
from bridge.protocol.judge import judge
from bridge.protocol.names import is_client_model
from bridge.protocol.outcome import Control, Outcome, Progress
from bridge.protocol.question import KEY, Asked, told
from bridge.protocol.request import Request
from bridge.protocol.trace_context import variables_of
from bridge.protocol.usage import Usage
from bridge.rules.freshness import looks_of
from bridge.store.clock import Moment
from bridge.store.tool_calls import begin_notes, starts_of

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.bound.agent_rules import AgentRules

# It contains everything that the agent saw; an answer has at most 4 MB.
MAX_OUTPUT_BYTES = 64 * 1024 * 1024
_NOT_STARTED = 127
# A prompt may quote what anybody wrote: `@FILE` in it would bring that file to the
# model, past every limit of the agent.
# The newest client knows both, older ones the second alone.
_PLAIN_TEXT = {
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
}
_SCRIPT = Path(__file__).with_name("agent_hook.py")


@dataclass(frozen=True, slots=True)
class ClaudeExecutor:
    """The executor.

    Attributes:
        program: the path of the client.
        env: its environment, without the variables that name a parent request.
        doubt: why the folder's own files are ignored; None if it is trusted.
        bound: the rules that bind the agent of a request.
    """

    program: str
    env: Mapping[str, str]
    doubt: Callable[[], str | None]
    bound: Callable[[Request, Definition | None], AgentRules]

    def answer(
        self, request: Request, definition: Definition | None, control: Control
    ) -> Outcome:
        """Run the client to its end, or to the request's."""
        rules = self.bound(request, definition)
        try:
            outcome = self._answer(request, definition, control, rules)
            outcome = replace(outcome, left_at=rules.left_at())
        finally:
            rules.forget()
        if notes := rules.notes():
            control.on_progress(Progress(note="\n".join(notes)))
        return outcome

    def _answer(
        self,
        request: Request,
        definition: Definition | None,
        control: Control,
        rules: AgentRules,
    ) -> Outcome:
        doubt = self.doubt()
        notes = (doubt, _idle(definition) if definition else None)
        # The only progress: the client prints everything else at its end.
        control.on_progress(Progress(note="\n".join(filter(None, notes)) or None))
        command = partial(
            command_line,
            self.program,
            request,
            definition,
            hook=hook_of(rules, definition),
            server=server_of(rules, request),
            is_trusted=doubt is None,
        )
        steps = rules.begin_steps(request)
        prompt = "\n\n".join(filter(None, (prompt_of(request, definition), steps)))
        began = Moment.now(rules.store.clock)
        outcome, session = self._run(command(), prompt, request, control, rules)
        while asked := _question_in(request, outcome):
            if not session or (exchange := control.ask(asked)) is None:
                break
            request = request.with_(exchanges=(*request.exchanges, exchange))
            said = told(exchange, is_last=not request.may_still_ask)
            may_ask = request.may_still_ask
            prompt = full_prompt(said, request.answer_schema, may_ask=may_ask)
            again = command(resumes=session)
            later, session = self._run(again, prompt, request, control, rules)
            outcome = _after(outcome, later)
        if outcome.looks is None:
            return outcome
        since_ms = began.earliest_ms(rules.store.clock)
        unasked = _unasked(outcome.looks, rules, since_ms)
        looks = (*with_repository(outcome.looks), *unasked)
        key = key_of_client(rules.settings, rules.store.place)
        return replace(outcome, looks=looks, model_key=key)

    def _run(
        self,
        command: list[str],
        prompt: str,
        request: Request,
        control: Control,
        rules: AgentRules,
    ) -> tuple[Outcome, str]:
        """One run of the client, and the id of its session."""
        began = Moment.now(rules.store.clock)
        begin_notes(rules.store, request.request_id)
        output = run.WholeOutput(MAX_OUTPUT_BYTES)
        if prompt.lstrip().startswith("/"):
            # It would be a command to the client.
            prompt = f"A program asks:\n\n{prompt}"
        # A shell goes by the name of its folder: a link's `..` is another one.
        where = {"PWD": str(rules.store.place.project), "CDPATH": ""}
        ended = run.run(
            command,
            output,
            stdin=prompt.encode("utf-8", "replace"),
            env={**self.env, **_PLAIN_TEXT, **where, **parent_variables(request)},
            folder=rules.store.place.project,
            deadline_s=control.deadline_s,
            should_stop=control.should_stop,
        )
        said = output.data.decode("utf-8", "replace")
        if ended.how == "deadline":
            return Outcome(said, "timeout", "claude -p was still at work"), ""
        if ended.how == "stopped":
            return Outcome(said, "agent_stopped", "claude -p was stopped"), ""
        if ended.how == "too much output":
            detail = f"claude -p printed more than {MAX_OUTPUT_BYTES:,} bytes"
            return Outcome(code="agent_error", detail=detail), ""
        if ended.exit_code == _NOT_STARTED and not output.data:
            detail = f"claude -p could not be started: {ended.stderr}"
            return Outcome(code="agent_error", detail=detail), ""
        is_structured = structured_schema(request) is not None
        outcome = read_output(
            bytes(output.data),
            ended.stderr,
            ended.exit_code,
            is_structured=is_structured,
            is_fork=request.context_from is not None,
            folder=str(rules.store.place.project),
            began_ms=began.earliest_ms(rules.store.clock),
            starts=starts_of(rules.store, request.request_id),
        )
        outcome = replace(outcome, degraded=_is_degraded(request, outcome.model))
        return outcome, session_in(bytes(output.data))


def _unasked(
    looks: tuple[Look, ...], rules: AgentRules, since_ms: int
) -> Iterator[Look]:
    """What an agent was shown that it did not ask for."""
    settings, place = rules.settings, rules.store.place
    read = [look.path for look in looks if look.kind == "file"]
    yield from of_client(str(place.project), str(settings.claude_dir), read, since_ms)
    yield from looks_of(settings, place, since_ms)


def _question_in(request: Request, outcome: Outcome) -> Asked | None:
    """What the agent asks that has ended so, if it may."""
    is_one = outcome.code is None and request.may_still_ask and KEY in outcome.words
    return judge(request, outcome.words).question if is_one else None


def _after(before: Outcome, later: Outcome) -> Outcome:
    """How an agent ended that has gone on, with what it did and took before."""
    calls = (*(before.calls or ()), *(later.calls or ()))
    known = before.calls is not None and later.calls is not None
    usage = before.told_usage, later.told_usage
    return replace(
        later,
        calls=calls if known else None,
        told_usage=sum(filter(None, usage), Usage()) if any(usage) else None,
    )


def hook_of(rules: AgentRules, definition: Definition | None) -> list[str]:
    """The command of our hook for an agent; anybody may read it."""
    limits = limits_of(definition)
    # The variables stay in the request's record.
    run = {key: value for key, value in rules.run.items() if key != "variables"}
    agent = {
        "requestId": rules.request_id,
        "place": rules.store.place.words(),
        "home": str(rules.settings.home),
        "run": run,
        "tools": limits.get("tools"),
        "blockedTools": limits.get("blocked_tools", ()),
        "allow": list(limits.get("allow", ())),
    }
    words = orjson.dumps(agent).decode()
    return [sys.executable, "-I", "-S", str(_SCRIPT), words]


def server_of(rules: AgentRules, request: Request) -> dict[str, Any]:
    """How the client starts our MCP server: for this project, as this request's agent.

    The client hands its servers only a part of its own environment.
    """
    env = {"BRIDGE_HOME": str(rules.settings.home), **parent_variables(request)}
    if rules.settings.state_dir is not None:
        env["BRIDGE_STATE_DIR"] = str(rules.settings.state_dir)
    args = ["-I", "-m", "bridge", "mcp"]
    return {"type": "stdio", "command": sys.executable, "args": args, "env": env}


def _idle(definition: Definition) -> str | None:
    """A note about an agent that should run commands, but may run none."""
    why = why_bash_is_idle(
        None if definition.tools is None else on_host(definition.tools),
        on_host(definition.blocked_tools),
        definition.allow,
        definition.routes,
        words_of(definition),
    )
    return why and f"agent {definition.name!r}: {why}"


def parent_variables(request: Request) -> dict[str, str]:
    """The variables that name this request as the parent.

    With a parent the client's hooks do nothing: its session serves one request and no
    queue. A request from within is a child of this one, up to the depth limit. Turning
    the bridge off instead would leave an agent no way to ask.
    """
    return {
        "BRIDGE_PARENT": request.request_id,
        "BRIDGE_DEPTH": str(request.depth),
        **variables_of(request.traceparent, request.request_id),
    }


def _is_degraded(request: Request, answered_by: str | None) -> bool:
    """Whether another model than the one asked for by name has answered."""
    asked = wanted_model(request)
    if asked is None:
        return False
    return not is_client_model(asked) or (
        answered_by is not None and asked not in answered_by
    )
