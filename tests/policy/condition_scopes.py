"""Scopes of conditions, as public rule and workflow files have them."""

from __future__ import annotations

from typing import Any

Scope = dict[str, Any]


def event_of(**data: Any) -> Scope:
    return {"event": {"data": data, "source": {"value": "claude"}}}


def with_variables(**values: Any) -> Scope:
    return {"variables": values, "vars": values, "state": {"variables": values}}


def outputs(**steps: Any) -> Scope:
    """Steps by name, each with an output."""
    found: Scope = {name: {"output": output} for name, output in steps.items()}
    return found | {"steps": dict(found)}


def github(name: str = "push", ref: str = "refs/heads/main", **more: Any) -> Scope:
    return {"github": {"event_name": name, "ref": ref, **more}}
