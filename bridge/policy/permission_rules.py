"""A permission rule of a definition's `allow`: its parts, and what it is about. Pure.

    Read                    every call of the tool
    Bash(pytest *)          commands; `*` stands for anything
    Bash(pytest [-q] *)     commands with these options only (command_options.py), also
                            after `cd FOLDER &&` in the project
    Edit(src/**)            files below the project; `*` stays in one folder
    WebFetch(domain:x.org)  one host
    mcp__server             every tool of a server

As in the client, a rule for `Read` covers Grep and Glob, and one for `Edit` every tool
that writes files. What a rule grants: `bridge.policy.permissions`.

Source: Claude Code permissions reference, "Permission rule syntax".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bridge.policy.command_options import read_named
from bridge.policy.tool_names import of_own_server, rule_on_host
from bridge.policy.tool_paths import is_domain

_RULE = re.compile(r"([A-Za-z_][A-Za-z0-9_.*-]*)(?:\((.+)\))?\Z", re.S)
WRITING = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
FAMILIES = {
    "Read": frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead"}),
    "Edit": WRITING,
    "Write": WRITING,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule in parts; `spec` is the text in parentheses."""

    tool: str
    spec: str | None = None


def parse_rule(text: str) -> Rule | str:
    """Parse a rule; if it is invalid, return what is wrong with it.

    Our own names of tools are replaced by the client's.
    """
    match = _RULE.match(rule_on_host(text))
    if match is None:
        return "expected Tool or Tool(what), such as Bash(pytest *)"
    tool, spec = match[1], match[2]
    if spec == "*":
        spec = None
    if spec is None:
        return Rule(tool)
    if tool == "WebFetch" and not is_domain(spec):
        return "expected WebFetch(domain:HOST), one host in plain letters"
    if tool == "Bash" and isinstance(problem := read_named(spec), str):
        return problem
    if tool not in ("Bash", "WebFetch", "Agent", *FAMILIES):
        return f"a rule for {tool} takes nothing in parentheses"
    return Rule(tool, spec)


def command_specs(rules: Iterable[str]) -> list[str | None]:
    """What the valid `Bash` rules have in parentheses; None for every command."""
    parsed = (parse_rule(rule) for rule in rules)
    return [r.spec for r in parsed if isinstance(r, Rule) and r.tool == "Bash"]


def open_commands(rules: Iterable[str]) -> list[str]:
    """What commands begin with that rules cover as a whole, as `Bash(git push *)`."""
    specs = (re.sub(r":\*\Z", " *", spec or "") for spec in command_specs(rules))
    found = (spec.removesuffix(" *") for spec in specs if spec.endswith(" *"))
    return [words for words in found if words.strip() and not set("*[") & set(words)]


def names_options(text: str) -> bool:
    """Whether a rule is of the form that the client does not know."""
    return any(spec and read_named(spec) for spec in command_specs([text]))


def is_about(rule: Rule, tool: str) -> bool:
    """Whether a rule is about a tool, by the client's name, whatever it grants."""
    tool = of_own_server(tool)
    if tool in FAMILIES.get(rule.tool, {rule.tool}):
        return True
    prefix = rule.tool.rstrip("*").removesuffix("__") + "__"
    is_server = rule.tool.startswith("mcp__")
    return is_server and rule.spec is None and tool.startswith(prefix)
