"""Definitions as people read them: a line each, or all that one would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.names import CLIENT_LAYERS
from bridge.cli.definition_source import visible, words_of
from bridge.cli.output import indented
from bridge.policy.grant_description import what_it_lets
from bridge.policy.permissions import parse_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.agents.definition import Definition
    from bridge.agents.diagnostic import Diagnostic
    from bridge.agents.load import Loaded
    from bridge.agents.registry import Entry

UNTRUSTED = "not trusted; look at it with: hostbridge trust"
UNTRUSTED_CLIENTS = f"known to an open session; elsewhere {UNTRUSTED}"
BROKEN = "stays untrusted until it is mended"


def list_text(entries: Sequence[Entry]) -> str:
    """One line for each definition, what it hides and what is wrong below it."""
    width = max((len(visible(entry.loaded.name)) for entry in entries), default=0)
    layers = max((len(entry.loaded.layer) for entry in entries), default=0)
    lines = []
    for entry in entries:
        loaded = entry.loaded
        name = visible(loaded.name) if entry.is_used else ""
        lines.append(f"{name:<{width}}  {loaded.layer:<{layers}}  {_state(entry)}")
        lines += [f"{'':<{width}}    {p}" for p in problems_of(loaded)]
    return "\n".join(lines)


def _state(entry: Entry) -> str:
    loaded = entry.loaded
    if not entry.is_used:
        return visible(f"{loaded.file}, hidden by {entry.hidden_by}")
    if loaded.errors:
        count = len(loaded.errors)
        return f"cannot be used: {count} {'error' if count == 1 else 'errors'}"
    if not entry.is_trusted:
        return _untrusted(loaded)
    return visible(loaded.definition.description.strip()) if loaded.definition else ""


def _untrusted(loaded: Loaded) -> str:
    return UNTRUSTED_CLIENTS if loaded.layer in CLIENT_LAYERS else UNTRUSTED


def entry_value(entry: Entry) -> dict[str, Any]:
    """A definition among all, as JSON."""
    loaded = entry.loaded
    definition = loaded.definition
    return {
        "name": loaded.name,
        "layer": loaded.layer,
        "file": str(loaded.file),
        "spelling": loaded.spelling,
        "description": definition.description if definition else None,
        "routes": definition.routes if definition else None,
        "usable": definition is not None and entry.is_trusted and entry.is_used,
        "trusted": entry.is_trusted,
        "hiddenBy": entry.hidden_by and str(entry.hidden_by),
        "digest": loaded.digest,
        "problems": [problem_value(problem) for problem in loaded.problems],
    }


def problem_value(problem: Diagnostic) -> dict[str, Any]:
    """A problem as JSON."""
    return {
        "file": str(problem.file),
        "line": problem.line,
        "path": problem.path,
        "level": problem.level,
        "message": problem.message,
    }


def problems_of(loaded: Loaded) -> list[str]:
    """What is wrong with a definition, a line each, whatever is in its words."""
    return [visible(str(problem)) for problem in loaded.problems]


def effects_text(loaded: Loaded) -> str:
    """What a definition would do: who it is, what it may call, what it would run.

    One line each.
    """
    definition = loaded.definition
    if definition is None:
        first, told = f"{loaded.name}: cannot be used", []
    else:
        first = ": ".join(filter(None, (definition.name, definition.description)))
        facts = [("file", str(loaded.file)), *_facts(definition)]
        width = max(len(name) for name, _ in facts)
        told = [f"{name:<{width}}  {visible(value)}" for name, value in facts]
    lines = [visible(first.strip()), *map(indented, (*told, *problems_of(loaded)))]
    return "\n".join(lines)


def entry_text(entry: Entry) -> str:
    """All of a definition, and first of all whether it counts."""
    text = whole_text(entry.loaded)
    if entry.is_trusted:
        return text
    first, _, rest = text.partition("\n")
    state = _untrusted(entry.loaded) if entry.loaded.definition else BROKEN
    return f"{first}\n{indented(state)}\n{rest}"


def _facts(definition: Definition) -> list[tuple[str, str]]:
    """What there is to know, where it is not the default."""
    told = {
        "routes": ", ".join(definition.routes) or "none yet",
        "model": definition.model,
        "runs as": definition.subagent_type,
        "tools": _tools(definition),
        "never": ", ".join(definition.blocked_tools),
        "is given": ", ".join(_CONTEXT[name] for name in definition.context),
        "at most": definition.max_turns and f"{definition.max_turns} turns",
        "timeout": definition.timeout_s and f"{definition.timeout_s:g} s",
        "priority": definition.priority,
        "tries": definition.max_attempts,
        "evidence": "must be verified" if definition.require_verified_evidence else "",
    }
    facts = [(name, str(value)) for name, value in told.items() if value]
    facts += [("granted", _grant(text)) for text in definition.allow]
    for tool in definition.script_tools:
        scripts = (tool.pym, *tool.context_providers)
        facts.append((f"tool {tool.name}", ", ".join(map(str, scripts))))
    return facts


def _grant(text: str) -> str:
    """A rule, and what it lets the agent do."""
    rule = parse_rule(text)
    lets = None if isinstance(rule, str) else what_it_lets(rule)
    return f"{text}: {lets}" if lets else text


_CONTEXT = {"change": "the change of the project that is not committed"}


def _tools(definition: Definition) -> str:
    """What it may call beside its own scripts, which are told one by one."""
    if definition.tools is None:
        return "all of its route"
    none = "its own alone" if definition.script_tools else "none"
    return ", ".join(definition.tools) or none


def whole_text(loaded: Loaded) -> str:
    """All of a definition: what it would do, what it says and what it runs."""
    return "\n\n".join(parts_of(loaded))


def parts_of(loaded: Loaded) -> list[str]:
    """The parts of the whole: first what it would do, then its words one by one."""
    definition = loaded.definition
    words = words_of(definition) if definition else ()
    return [effects_text(loaded), *words]
