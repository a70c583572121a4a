"""What a condition asks for and can never be, judging by its compiled form. Pure."""

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

from bridge.agents.diagnostic import did_you_mean
from bridge.policy.rule_set import TOOL_EVENTS
from bridge.policy.tool_classes import tools_of
from bridge.policy.tool_names import KNOWN, is_known
from bridge.rules.signs import classes_of

# Names that are null in all other events.
_ONLY_IN = {
    "prompt": {"on_user_prompt"},
    "tool_output": {"on_after_tool"},
    **dict.fromkeys(("tool_name", "tool_input", "command"), TOOL_EVENTS),
}
# What a regular expression has and a glob hardly ever.
_REGEX = re.compile(r"\A\^|\$\Z|\\[bdsw.]|\.\+|\(.*\|.*\)")
_NO_NAME = re.compile(r"(?<=\s)-\S*|[*?|&;$<>]")


def never_holding(
    code: Any,
    event: str,
    variables: Collection[str],
    check_agent: Callable[[str], str | None],
) -> Iterator[str]:
    """What is wrong in the compiled condition of a rule of this event.

    `variables` are those that somebody declares or sets.
    """
    match code:
        case ["name", _, name] if event not in _ONLY_IN.get(name, {event}):
            yield f"{event} has no {name}: it is null there"
        case ["compare", _, ["name", _, "tool_name" | "agent" as name], sign, wanted]:
            look = _unknown_tool if name == "tool_name" else check_agent
            texts = _texts(wanted) if sign in {"==", "in"} else []
            yield from filter(None, map(look, texts))
        case ["matches", _, _, globs]:
            yield from filter(None, map(_no_glob, _texts(globs)))
        case ["runs", _, _, *names]:
            for name in (text for each in names for text in _texts(each)):
                if found := _NO_NAME.search(name):
                    yield (
                        f"runs(…, {name!r}) is never true: {found[0]!r} is no part of "
                        "a name; write the program, or the program and its subcommand"
                    )
        case ["get", _, ["name", _, "variables"], str(name)] if name not in variables:
            if near := did_you_mean(name, variables):
                yield f"nothing declares or sets variables.{name}{near}"
    for part in code if isinstance(code, list) else ():
        yield from never_holding(part, event, variables, check_agent)


def holding_for_no_tool(rule: dict[str, Any]) -> str | None:
    """Why a compiled rule about tools is about none; None if it is about some."""
    if rule.get("when", False) is False or classes_of(rule):
        return None
    only = f": only {' and '.join(tools_of('bash'))} have a command"
    only *= "'command'" in str(rule["when"])
    return f"this holds for no tool that the rule is about{only}"


def _texts(code: Any) -> list[str]:
    """The texts that a part of a condition is, or that are in its list."""
    is_list = isinstance(code, list) and code[:1] == ["list"]
    return [one for one in (code[2:] if is_list else [code]) if isinstance(one, str)]


def _unknown_tool(tool: str) -> str | None:
    if "|" in tool:
        return f"no tool is named {tool!r}: write tool_name in {tool.split('|')}"
    near = did_you_mean(tool, KNOWN)
    return None if is_known(tool) else f"no tool is named {tool!r}{near}"


def _no_glob(glob: str) -> str | None:
    if _REGEX.search(glob):
        return (
            f"matches(…, {glob!r}) takes a glob, not a regular expression: `*` stands "
            "for anything, and the whole text has to match"
        )
    if set(glob).isdisjoint("*?"):
        return f"matches(…, {glob!r}) is this whole text only; a part is '*{glob}*'"
    return None
