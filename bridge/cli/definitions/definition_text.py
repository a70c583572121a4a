"""Definitions as people read them: one line each, or everything that one would do.

People decide by this whether to trust a definition. Whatever reaches an agent or is run
is shown as it is in the file; characters that a terminal obeys or hides are escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bridge.agents.agent_names import CLIENT_LAYERS
from bridge.cli.common.output import counted, indented, say_result, visible
from bridge.policy.grant_description import what_it_lets
from bridge.policy.permission_rules import parse_rule

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from bridge.agents.definition import Definition, ScriptTool
    from bridge.agents.diagnostic import Diagnostic
    from bridge.agents.load import Loaded
    from bridge.agents.registry import Entry

UNTRUSTED = "not trusted; look at it with: hostbridge trust"
UNTRUSTED_CLIENTS = f"known to an open session; elsewhere {UNTRUSTED}"
BROKEN = "stays untrusted until it is corrected"
_CONTEXT = {"change": "the uncommitted changes of the project"}
_MODES = {
    "merge": "lifecycle_variables",
    "replace": "lifecycle_variables, replacing those of the agent that asks",
}


def _untrusted(loaded: Loaded) -> str:
    return UNTRUSTED_CLIENTS if loaded.layer in CLIENT_LAYERS else UNTRUSTED


def entry_value(entry: Entry) -> dict[str, Any]:
    """A definition as JSON, without its text."""
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


def say_problems(
    options: Namespace, problems: Sequence[Diagnostic], *, has_columns: bool = False
) -> str:
    """Print problems, with `--json` as such; returns how many there are."""
    for each in problems:
        value = problem_value(each)
        value |= {"column": each.column} if has_columns else {}
        say_result(options, value, *problem_lines(each))
    errors = sum(each.level == "error" for each in problems)
    return f"{counted(errors, 'error')}, {counted(len(problems) - errors, 'warning')}"


def problem_lines(problem: Diagnostic) -> list[str]:
    """A problem, and the line that it is in, where that is known.

    No other line begins in it: a file may have a line break in its name.
    """
    said = visible(str(replace(problem, quoted="")))
    return [said, *map(visible, problem.quoted.splitlines())]


def _problems(loaded: Loaded) -> list[str]:
    return [line for problem in loaded.problems for line in problem_lines(problem)]


def entry_text(entry: Entry) -> str:
    """All of a definition; first of all, whether it is trusted."""
    text = "\n\n".join(parts_of(entry.loaded))
    if entry.is_trusted:
        return text
    first, _, rest = text.partition("\n")
    state = _untrusted(entry.loaded) if entry.loaded.definition else BROKEN
    return f"{first}\n{indented(state)}\n{rest}"


def parts_of(loaded: Loaded) -> list[str]:
    """All of a definition: first what it would do, then its words, part by part."""
    definition = loaded.definition
    if definition is None:
        lines = [f"{loaded.name}: cannot be used"]
    else:
        about = " ".join(definition.description.split())
        title = ": ".join(filter(None, (definition.name, about)))
        facts = [("file", str(loaded.file)), *_facts(loaded, definition)]
        width = max(len(name) for name, _ in facts)
        lines = [title.strip(), *(f"{name:<{width}}  {value}" for name, value in facts)]
    first, *others = map(visible, lines)
    effects = [first, *map(indented, (*others, *_problems(loaded)))]
    return ["\n".join(effects), *(_words_of(definition) if definition else ())]


def _facts(loaded: Loaded, definition: Definition) -> list[tuple[str, str]]:
    """The settings that differ from the defaults."""
    named = {
        "routes": ", ".join(definition.routes) or "none yet",
        "model": _model(loaded),
        "runs as": definition.subagent_type,
        "stands on": definition.base,
        "tools": _tools(definition),
        "never": ", ".join(definition.blocked_tools),
        "context": ", ".join(_CONTEXT[name] for name in definition.context),
        "at most": definition.max_turns and f"{definition.max_turns} turns",
        "timeout": definition.timeout_s and f"{definition.timeout_s:g} s",
        "priority": definition.priority,
        "tries": definition.max_attempts,
        "evidence": "must be verified" if definition.require_verified_evidence else "",
        "asks back": "it may" if definition.allow_questions else "",
    }
    facts = [(name, str(value)) for name, value in named.items() if value]
    facts += [("granted", _grant(text)) for text in definition.allow]
    for tool in definition.script_tools:
        scripts = (tool.pym, *tool.context_providers)
        facts.append((f"tool {tool.name}", ", ".join(map(str, scripts))))
    return facts


def _model(loaded: Loaded) -> str:
    """The model; loading warns of a file that is not there."""
    model = loaded.definition and loaded.definition.model
    is_missing = any(
        problem.path == "model" and problem.message.startswith("there is no ")
        for problem in loaded.problems
    )
    return f"{model or ''}{' (missing)' if is_missing else ''}"


def _grant(text: str) -> str:
    """A rule, and what it lets the agent do."""
    rule = parse_rule(text)
    lets = None if isinstance(rule, str) else what_it_lets(rule)
    return f"{text}: {lets}" if lets else text


def _tools(definition: Definition) -> str:
    """The tools it may call; its own scripts are listed one by one elsewhere."""
    if definition.tools is None:
        return "all of its route"
    none = "its own alone" if definition.script_tools else "none"
    return ", ".join(definition.tools) or none


def _words_of(definition: Definition) -> Iterator[str]:
    """Each part under its title; empty parts are left out."""
    for field in ("system_prompt", "node_context", "prompt"):
        if words := getattr(definition, field):
            yield _part(field, words)
    if definition.steps is not None:
        yield _part("works through these steps", _yaml(definition.steps.fields))
    values: dict[str, Any] = {
        "default_variables": definition.default_variables,
        _MODES[definition.lifecycle_variables_mode]: definition.lifecycle_variables,
        "output_schema": definition.output_schema,
        "examples": [each.model_dump(mode="json") for each in definition.examples],
    }
    for title, value in values.items():
        if value:
            yield _part(title, _json(value))
    for tool in definition.script_tools:
        yield from _tool(tool)


def _tool(tool: ScriptTool) -> Iterator[str]:
    words = f"{tool.description}\nparameters: {_json(tool.parameters)}"
    yield _part(f"tool {tool.name}", words)
    for path, code in zip(tool.context_providers, tool.provider_codes, strict=True):
        yield _part(f"runs before tool {tool.name}, {path}", code)
    yield _part(f"runs as tool {tool.name}, {tool.pym}", tool.code)


def _part(title: str, words: str) -> str:
    # Only what ends a line in every program ends one here.
    lines = visible(words.replace("\r\n", "\n").rstrip(), kept="\n\t")
    return f"{visible(title)}:\n{indented(lines)}"


def _json(value: Any) -> str:
    # orjson refuses large numbers and lone surrogates.
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _yaml(value: Any) -> str:
    import yaml

    text: str = yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=100)
    return text
