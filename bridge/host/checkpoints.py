"""Checkpoints of flows that the person at a terminal is asked by AskUserQuestion.

    runs/<run>/<checkpoint>.asked   which session asks it, by which calls, in what words

The model is offered a token, and calls the tool with it. Before the call runs, hooks
put the checkpoint's own words in its place; after it they take the answer that the
client reports for that call. A call with other words answers nothing. The token is the
checkpoint's id in this run, at this visit, so that an answer that comes late is an
answer to nothing else. A session offers a question until it has been on the screen, a
few times at most; if its client dies, the next session asks.

Source: measured on Claude Code 2.1.330: only the main thread of a terminal has the
tool. `updatedInput` replaces its input, `metadata` included; with a decision to allow
it is not shown at all. A refusal (Esc, or to chat about it) fires no event. Of a
question 2,000 characters are shown; in mode dontAsk none is.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from bridge.config import language
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.run_files import folder_of, read, read_plan
from bridge.engine.run_ids import node_of, request_id
from bridge.engine.view import question
from bridge.errors import BridgeError, InvalidRequest, UnclearAnswer
from bridge.host.registration import is_terminal
from bridge.host.request_tokens import PREFIX, find_all
from bridge.protocol import plain_json
from bridge.protocol.claim import HostProcess
from bridge.protocol.hook_output import (
    SILENT,
    HookOutput,
    context,
    deny,
    specific,
    with_line,
)
from bridge.protocol.plain_types import field
from bridge.protocol.record import Count, Milliseconds, Record
from bridge.protocol.wording import clean, one_line
from bridge.store import switch
from bridge.store.host_process import Liveness, arguments_of, liveness
from bridge.store.live_runs import FILE, LOCK, RUNS, live_runs
from bridge.store.lock import lock_in
from bridge.store.records import read_quietly, read_to_replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.engine.run import Run
    from bridge.host.context import HookContext
    from bridge.store.state import State

# What leaves room for the options on a small screen.
_MAX_CHARS = 1_000
_MAX_LINES = 12
_MAX_NAME = 40
# As for agents: an offer just made needs the model's next move.
_REPEAT_AFTER_MS = 10_000
_TAKEN = (
    "hostbridge: the flow has the answer and goes on by itself. Do nothing about it."
)
_UNCLEAR = "hostbridge: the flow takes a yes or a no; this answer is neither."
_NOTHING = "hostbridge: the flow has no use for this answer. Do nothing about it."


class QuestionOffer(Record):
    """Who asks a checkpoint's question: one session at a time."""

    host: HostProcess
    offers: Count
    at: Milliseconds
    calls: tuple[str, ...] = ()
    shown: dict[str, Any] = field(default_factory=dict)


def wait_for(hook: HookContext) -> bool:
    """Whether there are questions that this session is to ask."""
    if not is_terminal(arguments_of(hook.session.host.pid)):
        return False
    with hook.store.state() as state:
        return any(
            _may_offer(hook, _asked(state, name), at_once=False)
            for name in _checkpoints(state)
        )


def offered(hook: HookContext, *, at_once: bool) -> str:
    """What the model is told to call, so that its person is asked; empty for nothing.

    `at_once` repeats an offer that was ignored, however young it is.
    """
    is_asked = hook.event.text("permission_mode") != "dontAsk"
    if not (is_asked and is_terminal(arguments_of(hook.session.host.pid))):
        return ""
    with hook.store.state() as state:
        calls = [
            plain_json.dumps(_tool_input(f"{PREFIX}{name}", "y", "n")).decode()
            for name in _checkpoints(state)
            if _offer(hook, state, name, at_once=at_once)
        ]
    if not calls:
        return ""
    which = "this" if len(calls) == 1 else "each of these"
    lines = "\n".join(calls)
    return f"hostbridge: call AskUserQuestion once with {which}:\n{lines}"


def _checkpoints(state: State) -> Iterator[str]:
    """The checkpoints that wait for a person, in runs that are not paused."""
    for run_id in live_runs(state):
        with suppress(BridgeError), folder_of(state, run_id) as folder:
            run = read(folder, run_id, state.key())
            if run["open"] and _is_running(state, run):
                nodes = read_plan(folder, run)["nodes"]
                for node in by_hand.checkpoints(nodes, run):
                    yield request_id(run, node)


def _is_running(state: State, run: Run) -> bool:
    """Whether neither it nor the run above all its callers is paused."""
    if run["parent"] and run["status"] == "running":
        with folder_of(state, run["root"]) as folder:
            run = read(folder, run["root"], state.key())
    return run["status"] == "running"


def _asked(state: State, name: str) -> QuestionOffer | None:
    with folder_of(state, _run_of(name)) as folder:
        return read_quietly(folder, f"{name}.asked", QuestionOffer)


def _may_offer(
    hook: HookContext, asked: QuestionOffer | None, *, at_once: bool
) -> bool:
    if asked is None or liveness(asked.host) is Liveness.GONE:
        return True
    if asked.host != hook.session.host or asked.calls:
        return False
    is_young = 0 <= hook.now_ms() - asked.at < _REPEAT_AFTER_MS
    return asked.offers < hook.settings.max_offers and (at_once or not is_young)


def _offer(hook: HookContext, state: State, name: str, *, at_once: bool) -> bool:
    """Have this session ask a checkpoint's question, unless another one does."""
    host = hook.session.host

    def counted(asked: QuestionOffer | None) -> QuestionOffer | None:
        if not _may_offer(hook, asked, at_once=at_once):
            return None
        count = asked.offers if asked and asked.host == host else 0
        return QuestionOffer(host=host, offers=count + 1, at=hook.now_ms())

    return _change(state, name, counted)


def _change(
    state: State,
    name: str,
    change: Callable[[QuestionOffer | None], QuestionOffer | None],
) -> bool:
    """Note who asks; False if `change` says no."""
    with folder_of(state, _run_of(name)) as folder:
        with lock_in(folder, LOCK, wait_s=state.lock_wait_s):
            new = change(read_to_replace(folder, f"{name}.asked", QuestionOffer))
            if new is not None:
                folder.replace(f"{name}.asked", new.to_json(), durable=False)
    return new is not None


def _tool_input(words: str, yes: str, no: str) -> dict[str, Any]:
    """The input of a call that asks this; what the two options mean."""
    means = {"yes": yes, "no": no}
    options = [{"label": key, "description": said} for key, said in means.items()]
    asked = {
        "question": words,
        "header": "Checkpoint",
        "options": options,
        "multiSelect": False,
    }
    return {"questions": [asked]}


def before_question(hook: HookContext) -> HookOutput:
    """A call that names a checkpoint: have it ask what that asks, and nothing else."""
    named = _named(hook, hook.event.table("tool_input"))
    if not named:
        return SILENT
    if len(named) > 1:
        return deny("hostbridge: call AskUserQuestion once for each of them.")
    name = named[0]
    with hook.store.state() as state:
        asked = _asked(state, name)
        is_here = asked is not None and asked.host == hook.session.host
        is_off = switch.is_off(hook.store, hook.session.session_id)
        if hook.event.agent_id or is_off or not is_here or asked is None:
            return deny("hostbridge: this question is not to be asked here. Go on.")
        if name not in _checkpoints(state):
            return deny("hostbridge: this question waits for no answer now. Go on.")
        with folder_of(state, _run_of(name)) as folder:
            run = read(folder, _run_of(name), state.key())
            nodes = read_plan(folder, run)["nodes"]
        takes_words = by_hand.takes_words(nodes, run, node_of(name))
        tool_input = _shown(hook, run, name, takes_words=takes_words)

        def shown(asked: QuestionOffer | None) -> QuestionOffer | None:
            calls = (*(asked.calls if asked else ()), hook.event.tool_use_id)
            return asked and asked.with_(calls=calls, shown=tool_input)

        _change(state, name, shown)
    return specific("PreToolUse", updatedInput=tool_input)


def _named(hook: HookContext, tool_input: Any) -> list[str]:
    """The checkpoints whose tokens are anywhere in a call, or in this part of it."""
    text = plain_json.dumps(tool_input).decode()
    with hook.store.state() as state:
        runs = state[RUNS]
        return [name for name in find_all(text) if runs.has(f"{_run_of(name)}/{FILE}")]


def _run_of(name: str) -> str:
    return name.partition("-")[0]


def _shown(
    hook: HookContext, run: Run, name: str, *, takes_words: bool
) -> dict[str, Any]:
    """What a checkpoint asks; of what cannot be shown whole, where it can be read."""
    node = node_of(name)
    text = question(hook.store, run["run"], node).strip()
    words = clean(text, len(text)) or "Go on?"
    flow = one_line(run["name"] or run["run"], _MAX_NAME)
    if len(words) > _MAX_CHARS or words.count("\n") >= _MAX_LINES:
        words = (
            f"Flow {flow} asks more than fits here: {len(words):,} characters. Read "
            f"it by: hostbridge runs show {run['run']}"
        )
    later = f"Refuse. (Esc: answer later, by hostbridge reply {run['run']})"
    yes, no = f"Flow {flow} goes on.", later
    if not takes_words:
        yes += " To say how, type: yes, but …"
    if "waits" in run["nodes"].get(node, {}):
        # An agent asks: it goes on with either.
        yes = f"An agent of flow {flow} asks, and goes on with what you say."
        no = later.replace("Refuse. ", "")
    tool_input = _tool_input(words, yes, no)
    # Not shown: which checkpoint it is.
    return tool_input | {"metadata": {"source": f"{PREFIX}{name}"}}


def after_question(hook: HookContext) -> HookOutput:
    """A person has answered: let the flow know, or the person why it cannot."""
    tool_input = hook.event.table("tool_input")
    # Its words, or what the person typed, may have tokens of their own.
    named = _named(hook, tool_input.get("metadata")) or _named(hook, tool_input)
    if not named:
        return SILENT
    name = named[0]
    run_id = _run_of(name)
    try:
        answer = _answer_to(hook, name)
        if not answer:
            line = f"the flow has no answer; it waits: hostbridge reply {run_id}"
            return _said(line, _NOTHING)
        act = partial(
            by_hand.say,
            node=None,
            text=answer,
            by="question",
            language=language(),
            asked=name,
        )
        advance(hook.store, hook.settings, run_id, act)
    except UnclearAnswer as exc:
        with hook.store.state() as state:
            _change(state, name, _as_not_shown)
        return _said(exc.what, _UNCLEAR)
    except InvalidRequest as exc:
        return _said(f"your answer changed nothing: {exc.what}", _NOTHING)
    except (BridgeError, OSError) as exc:
        line = f"your answer was not taken: {exc}; hostbridge reply {run_id}"
        return _said(line, _NOTHING)
    return context("PostToolUse", _TAKEN)


def _as_not_shown(asked: QuestionOffer | None) -> QuestionOffer | None:
    """Have it asked again, at once."""
    return asked and asked.with_(offers=0, at=0, calls=())


def _answer_to(hook: HookContext, name: str) -> str:
    """What the person has said to the very question; empty if they said nothing."""
    with hook.store.state() as state:
        asked = _asked(state, name)
    said = hook.event.table("tool_response")
    if asked is None or hook.event.tool_use_id not in asked.calls:
        return ""
    if said.get("questions") != asked.shown["questions"]:
        return ""
    answers = said.get("answers")
    words = asked.shown["questions"][0]["question"]
    answer = answers.get(words) if isinstance(answers, dict) else None
    return answer.strip() if isinstance(answer, str) else ""


def _said(line: str, text: str) -> HookOutput:
    return with_line(context("PostToolUse", text), f"hostbridge: {line}")
