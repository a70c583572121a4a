"""Begin a run of a compiled plan: its files, and that it lives.

Nothing is asked before the run is on disk; `advance` does the rest.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from bridge.engine.inputs import params_of
from bridge.engine.kinds import KINDS
from bridge.engine.link import link
from bridge.engine.run_files import DETAILS, PLAN, put, write
from bridge.engine.run_ids import VERSION
from bridge.errors import InvalidRequest
from bridge.store import live_runs
from bridge.store.lock import lock_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.engine.asks import Texts
    from bridge.engine.run import Policy, Run
    from bridge.flow.plan import Plan
    from bridge.store.state import State

MAX_DEPTH = 5
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


class BeginOptions(TypedDict, total=False):
    """How a run goes; what is missing is the default.

    Attributes:
        params: its inputs: of a flow texts, of a pipeline any JSON.
        ask: fields of every request.
        agents: how many agents may be asked, by runs that it calls, too.
        tokens: how many tokens these may use.
        until: when it has to end, in milliseconds since 1970.
        policy: what becomes of it when a step fails and no condition looks at that.
        fan_out: how many requests may wait or run at once without a person's yes.
        source: the file of the flow.
        settings: what conditions call `settings`.
    """

    params: Mapping[str, Any]
    ask: Mapping[str, Any]
    agents: int | None
    tokens: int | None
    until: int | None
    policy: Policy
    fan_out: int | None
    source: str
    settings: Mapping[str, Any]


def new_run_id(now_us: int) -> str:
    """An id that sorts by time; without a dash, so that it ends in a request's id."""
    moment = "".join(_DIGITS[now_us >> shift & 31] for shift in range(50, -1, -5))
    return f"r{moment}{''.join(secrets.choice(_DIGITS) for _ in range(4))}"


def begin(state: State, plan: Plan, **options: Unpack[BeginOptions]) -> str:
    """Write a run of a plan, and return its id; `advance` starts it.

    Raises:
        InvalidRequest: the plan has something that this version does not run, or an
            input is missing, unknown, or of another type.
    """
    run_id = new_run_id(state.clock.now_us())
    run = new_run(run_id, plan, options, now_ms=state.now_ms())
    _write(state, run, plan)
    return run_id


def begin_child(state: State, texts: Texts, *, node: str, child: str) -> None:
    """Write the run that a node calls, unless it is there.

    Raises:
        InvalidRequest: it is too deep, unknown, or not given what it must be given.
    """
    if state[live_runs.RUNS].has(f"{child}/{live_runs.FILE}"):
        return
    parent, details, _ = texts
    name = details["details"][node]["flow"]
    plan = details["flows"].get(name)
    if plan is None:
        raise InvalidRequest(f"the flow {name!r} was not there when the run began")
    depth = parent["depth"] + 1
    if depth > MAX_DEPTH:
        raise InvalidRequest(f"flows call each other more than {MAX_DEPTH} deep")
    options: BeginOptions = {
        "params": texts.given(node),
        "settings": parent.get("settings", {}),
        "ask": parent["ask"],
        "policy": parent["policy"],
        "fan_out": parent["fanOut"],
        "source": parent["source"],
    }
    run = new_run(child, plan, options, now_ms=state.now_ms())
    run |= {"parent": (parent["run"], node), "depth": depth, "name": name}
    run |= {"root": parent["root"], "resumed": parent["resumed"]}
    _write(state, run, {**plan, "flows": details["flows"]})


def new_run(run_id: str, plan: Plan, options: BeginOptions, *, now_ms: int) -> Run:
    """A run that has not begun."""
    return {
        "schemaVersion": VERSION,
        "run": run_id,
        "name": plan["name"],
        "source": options.get("source", ""),
        "text": plan.get("source", ""),
        "plan": "",
        "details": "",
        "rev": 0,
        "status": "running",
        "why": "",
        "open": [],
        "nodes": {},
        "vars": {},
        "loops": {},
        "due": [],
        "said": {},
        "look": True,
        "asked": 0,
        "called": {},
        "agents": options.get("agents"),
        "tokens": options.get("tokens"),
        "until": options.get("until"),
        "policy": options.get("policy", "abort"),
        "parent": None,
        "root": run_id,
        "depth": 0,
        "resumed": 0,
        "params": params_of(plan, options.get("params", {})),
        "ask": {**options.get("ask", {})},
        "fanOut": options.get("fan_out"),
        "out": [],
        "at": now_ms,
        "uptime": None,
        "createdAt": now_ms,
        "settings": {**options.get("settings", {})},
    }


def _write(state: State, run: Run, plan: Plan) -> None:
    asked = run["ask"]
    unknown = {node["kind"] for node in plan["nodes"].values()}.difference(KINDS)
    if unknown:
        raise InvalidRequest(f"steps of kind {min(unknown)!r} cannot be run yet")
    linked, details = link(plan)
    with state[live_runs.RUNS].folder(run["run"]) as folder:
        with lock_in(folder, live_runs.LOCK, wait_s=state.lock_wait_s):
            if plan["agents"]:
                from bridge.engine.temporary import write_agents  # with all of YAML

                linked["agents"] = write_agents(folder, run, plan["agents"])
            run["plan"] = put(folder, PLAN, linked)
            run["details"] = put(folder, DETAILS, details)
            live_runs.mark(state, run["run"])
            write(folder, run, state.key())
    state.note(
        "run begun",
        run["run"],
        flow=run["name"] or None,
        parent=run["parent"][0] if run["parent"] else asked.get("parent_request_id"),
        traceparent=asked.get("traceparent"),
    )
