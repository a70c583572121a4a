"""The details of runs of version 1, whose texts were lists of parts. Pure.

Such a run keeps its files; its plan is read as one of this version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.flow.filling import joined, parameter, reference

if TYPE_CHECKING:
    from bridge.engine.run import Details
    from bridge.flow.details import Template
    from bridge.flow.plan import Input

    Json = dict[str, Any]


def details_of_version_1(details: Json) -> Details:
    """The details of a run as they are written now."""
    return {
        "details": _details(details, {}),
        "flows": {name: _plan(plan) for name, plan in details["flows"].items()},
        "issues": details["issues"],
    }


def _plan(plan: Json) -> Any:
    if "inputs" in plan:
        return plan
    inputs: dict[str, Input] = {name: {"type": "string"} for name in plan["params"]}
    details = _details(plan, inputs)
    agents = {
        name: {**agent, "prompt": _template(agent["prompt"], inputs)}
        for name, agent in plan["agents"].items()
    }
    for name, default in plan["params"].items():
        inputs[name] |= {} if default is None else {"default": default}
    return {**plan, "inputs": inputs, "details": details, "agents": agents}


def _details(plan: Json, inputs: dict[str, Input]) -> Json:
    return {name: _detail(each, inputs) for name, each in plan["details"].items()}


def _detail(detail: Json, inputs: dict[str, Input]) -> Json:
    found = {**detail}
    if (parts := found.pop("text", None)) is not None:
        found["prompt"] = _template(parts, inputs)
    if (given := found.pop("arguments", None)) is not None:
        pairs = ((key, _template(parts, inputs)) for key, parts in given.items())
        found["given"] = ["map", 0, *(one for pair in pairs for one in pair)]
    return found


def _template(parts: list[Any], inputs: dict[str, Input]) -> Template:
    found = []
    for part in parts:
        if isinstance(part, str):
            found.append(part)
        elif "var" in part:
            found.append(reference(part["var"], part["path"]))
        else:
            inputs.setdefault(part["param"], {"type": "string"})
            found.append(parameter(part["param"], part["default"]))
    return joined(found)
