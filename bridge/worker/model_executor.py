"""Answer a request by the agent loop, with a local model or one behind an endpoint."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from bridge.agent_loop.chat_model import ChatModel, ModelFailed
from bridge.agent_loop.ended_run import RunEnded
from bridge.agent_loop.job import NO_DEFINITION, Job
from bridge.agent_loop.loop import run
from bridge.agent_loop.run_log import TurnLog
from bridge.agent_loop.tool import Tool, ToolResult, object_schema, refused
from bridge.agents.definition import Definition
from bridge.agents.prompt import instructions_of, prompt_of
from bridge.bound.agent_rules import AgentRules
from bridge.freshness.looking import Looking
from bridge.freshness.repository import with_repository
from bridge.protocol.outcome import Control, Outcome, Progress
from bridge.protocol.question import KEY, MOST, read_question, told
from bridge.protocol.request import Request
from bridge.rules.freshness import looks_of
from bridge.store.clock import Moment
from bridge.store.store import Store


@dataclass(frozen=True, slots=True)
class OpenModel:
    """A model for one request; `degraded` if it is not the one that was wanted.

    `key` tells it from others (`models_in_use`).
    """

    model: ChatModel
    degraded: bool
    key: str = ""


OpenFor = Callable[
    [Request, Definition | None, Control], AbstractContextManager[OpenModel]
]


@dataclass(frozen=True, slots=True)
class ModelExecutor:
    """Runs the agent loop.

    Attributes:
        store: names the project, and keeps the run's log.
        open_model: opens the model for a request; raises `ModelFailed` if there is
            none.
        bound: the rules that bind the agent of a request.
        own_tools: the tools of ours that it may call.
    """

    store: Store
    open_model: OpenFor
    bound: Callable[[Request, Definition | None], AgentRules]
    own_tools: Callable[[Request, Definition | None, Control], tuple[Tool, ...]] = (
        lambda _request, _definition, _control: ()
    )

    def answer(
        self, request: Request, definition: Definition | None, control: Control
    ) -> Outcome:
        """Run the loop to its end."""
        rules = replace(
            self.bound(request, definition),
            is_over=control.should_stop,
            on_note=lambda note: control.on_progress(Progress(note=note)),
        )
        looking = Looking(self.store.place.project, self.store.clock)
        began = Moment.now(self.store.clock)
        try:
            with (
                self.open_model(request, definition, control) as opened,
                self.store.open() as state,
            ):
                steps = rules.begin_steps(request)
                prompt = instructions = None
                if definition is not None:
                    prompt = prompt_of(definition, request)
                    if opened.model.is_small:
                        instructions = instructions_of(definition, request)
                outcome = run(
                    Job(
                        request=request,
                        definition=definition or NO_DEFINITION,
                        prompt=prompt,
                        instructions=instructions,
                        model=opened.model,
                        project=rules.store.place.project,
                        deadline_s=control.deadline_s,
                        on_progress=control.on_progress,
                        log=TurnLog(state, request.request_id),
                        is_cancelled=control.should_stop,
                        ask_rules=rules.ask,
                        note_look=looking.note,
                        steps="\n\n".join(filter(None, [steps, *request.told])),
                        own_tools=(
                            *ask_tool(request, control),
                            *self.own_tools(request, definition, control),
                        ),
                        clock=self.store.clock,
                    )
                )
                outcome = replace(outcome, left_at=rules.left_at())
        except ModelFailed as exc:
            return Outcome(code=exc.code, detail=str(exc), model=request.model)
        finally:
            rules.forget()
        degraded = opened.degraded or outcome.degraded
        since_ms = began.earliest_ms(self.store.clock)
        by_rules = looks_of(rules.settings, rules.store.place, since_ms)
        return replace(
            outcome,
            degraded=degraded,
            looks=(*with_repository(looking.looks()), *by_rules),
            model_key=opened.key,
        )


NAME = "ask_question"
_ABOUT = (
    "Ask who wants your answer something that only they can say, once for all that you "
    "need. `choices`: the replies to choose from; or `form`: the JSON Schema of the "
    "reply; a text otherwise."
)
_PARAMETERS = object_schema(
    {
        "words": {"type": "string", "minLength": 1, "maxLength": 2000},
        "choices": {"type": "array", "items": {"type": "string"}, "maxItems": 20},
        "form": {"type": "object"},
    },
    "words",
)


def ask_tool(request: Request, control: Control) -> tuple[Tool, ...]:
    """The tool, for an agent that may ask; otherwise none."""
    if not request.is_told_to_ask:
        return ()
    asked = len(request.exchanges)

    def call(arguments: dict[str, Any]) -> ToolResult:
        nonlocal asked
        if asked >= MOST:
            return refused(f"you have asked {MOST} questions, the most; answer now")
        question = read_question({KEY: {**arguments, "form": _form(arguments)}})
        if isinstance(question, str):
            return refused(question)
        exchange = control.ask(question)
        if exchange is None:
            raise RunEnded("agent_stopped", "it asked, and nobody has replied yet")
        asked += 1
        return ToolResult(told(exchange, is_last=asked >= MOST))

    return (Tool(NAME, _ABOUT, _PARAMETERS, call),)


def _form(arguments: dict[str, Any]) -> dict[str, Any]:
    if choices := arguments.get("choices"):
        return {"enum": choices}
    form: dict[str, Any] = arguments.get("form") or {"type": "string"}
    return form
