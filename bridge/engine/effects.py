"""What is done outside of a run: for what it says is due, and for its tools.

If a process is killed, the next one that looks does each of `EFFECTS` again: its result
is known by an id.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from bridge.engine import by_hand, marks
from bridge.engine.kinds import LONG
from bridge.engine.long_steps import CANCELLED, headless_sign
from bridge.engine.results import put_result
from bridge.engine.run_ids import node_of, request_id
from bridge.errors import BridgeError, InvalidRequest, StateUnavailable
from bridge.policy.condition import ConditionError
from bridge.protocol.ids import RequestId
from bridge.protocol.response import failed
from bridge.store.queries import find_unfinished
from bridge.store.responses import publish

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.engine.run_tree import Effect, HeldRun


def ask(held: HeldRun, asked: str, node: str) -> None:
    """Submit the request of a node, unless that was done."""
    tree, state = held.tree, held.tree.state
    if marks.is_asked(state, held.run["run"], asked):
        return
    from bridge.engine.asks import Texts, request_of

    with _refusing(held, asked):
        request = request_of(
            tree.store,
            held.find_definition,
            Texts(held.bounded(), held.details, held.answers),
            node=node,
            request_id=asked,
            is_retried="retry" in held.plan["nodes"][node],
        )
        if request.route != held.run["ask"].get("route", "host"):
            # Whoever looks has it served in a process of its own.
            held.folder.touch(headless_sign(asked))
        marks.ask(state, held.run, request)
        tree.has_asked |= request.route == "host"


def tool(held: HeldRun, asked: str, node: str) -> None:
    """Call a tool, unless its result is there."""
    if asked in held.refused or held.answers.result(asked):
        return
    with _refusing(held, asked):
        _call_tool(held, asked, node)


def _call_tool(held: HeldRun, asked: str, node: str) -> None:
    from bridge.engine.tool_steps import CallingRun, call_tool

    tree = held.tree

    caller = CallingRun(
        tree.store,
        tree.settings,
        tree.state,
        held.run,
        held.details,
        held.answers,
        held.find_definition,
        tree.note_asked,
    )
    call_tool(caller, asked, node)


def recall(held: HeldRun, asked: str, node: str) -> None:
    """Have again what a tool gave: that is known by the key of its call."""
    if held.plan["nodes"][node]["kind"] == "tool":
        with suppress(ConditionError, InvalidRequest):
            _call_tool(held, asked, node)


def call(held: HeldRun, child: str, node: str) -> None:
    """See that a called run is there, and goes on if its caller was resumed."""
    from bridge.engine.asks import Texts
    from bridge.engine.begin import begin_child

    tree, resumed = held.tree, held.run["resumed"]
    with _refusing(held, request_id(held.run, node)):
        texts = Texts(held.run, held.details, held.answers)
        begin_child(tree.state, texts, node=node, child=child)
        if child not in tree.root.run["called"]:
            held.count(child, 0)
        called = tree.run(child)
        is_behind = called.run["resumed"] < resumed
        called.advance(partial(by_hand.go_on, resumed=resumed) if is_behind else None)


@contextmanager
def _refusing(held: HeldRun, asked: str) -> Iterator[None]:
    """What cannot be asked at all is a fact of the run."""
    try:
        yield
    except StateUnavailable as exc:
        if not exc.is_lasting:
            raise
        held.refused[asked] = ("error", f"{exc}")
    except ConditionError as exc:
        at = held.plan["nodes"][node_of(asked)].get("at", "")
        where = f"{at}: " if at else ""
        held.refused[asked] = ("error", f"{where}{exc.message}")
    except (BridgeError, ValueError) as exc:
        held.refused[asked] = ("error", f"{exc}")


def cancel(held: HeldRun, id_: str, node: str) -> None:
    """End a request, a called run, or a program."""
    state = held.tree.state
    if "-" not in id_:
        held.tree.look(id_, by_hand.cancel)
    elif held.plan["nodes"][node]["kind"] in LONG:
        # Whoever does it sees that.
        put_result(state, held.run["run"], id_, CANCELLED)
    elif request := find_unfinished(state, RequestId(id_)):
        why = "the flow that asked goes on without it"
        response = failed(request, "cancelled", why, now_ms=state.now_ms())
        publish(state, response, source="flow")


def tell(held: HeldRun, _id: str, _node: str) -> None:
    """Have the run that called this one look at it."""
    if held.run["parent"]:
        held.tree.next.append(held.run["parent"][0])


# By what a run says is due; tools are called without being due, and recalled.
EFFECTS: Mapping[str, Effect] = {
    "ask": ask,
    "call": call,
    "cancel": cancel,
    "tell": tell,
    "tool": tool,
    "recall": recall,
}
