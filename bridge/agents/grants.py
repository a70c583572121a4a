"""Permission rules of a definition's `allow`: which tool calls they grant. Pure.

    Read                    every call of the tool
    Bash(pytest *)          commands; `*` stands for anything
    Edit(src/**)            files below the project; `*` stays in one folder
    WebFetch(domain:x.org)  one host
    mcp__server             every tool of a server

A rule for `Read` covers Grep and Glob, one for `Edit` covers every tool that writes
files, as the client has it. A pattern never covers a command that could run a second
one; what one for a path covers is told in `bridge.agents.globs`. Nothing here grants a
change of what governs the session itself (`.claude`, `.git`, `.bridge`), unless the
rule names that folder.

Source: Claude Code permissions reference, "Permission rule syntax".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bridge.agents.globs import covers, from_root
from bridge.agents.shellsigns import shell_sign
from bridge.agents.toolnames import rule_on_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    # A path as the tool was given it -> where that really is, absolute.
    Resolve = Callable[[str], str]

_RULE = re.compile(r"([A-Za-z_][A-Za-z0-9_.*-]*)(?:\((.+)\))?\Z", re.S)
_FAMILIES = {
    "Read": frozenset({"Read", "Grep", "Glob", "NotebookRead"}),
    "Edit": frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"}),
    "Write": frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"}),
}
_PATH_KEYS = ("file_path", "notebook_path", "path")
_GOVERNING = frozenset({".claude", ".git", ".bridge"})


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, taken apart; `spec` is what stands in parentheses."""

    tool: str
    spec: str | None = None


def parse_rule(text: str) -> Rule | str:
    """Take a rule apart; what is wrong with it, where it is none.

    Every reader of rules asks here. A tool of ours is told by the client's name.
    """
    match = _RULE.match(rule_on_host(text))
    if match is None:
        return "expected Tool or Tool(what), such as Bash(pytest *)"
    tool, spec = match[1], match[2]
    if spec == "*":
        spec = None
    if spec is None:
        return Rule(tool)
    if tool == "WebFetch" and not spec.startswith("domain:"):
        return "expected WebFetch(domain:HOST)"
    if tool not in ("Bash", "WebFetch", "Agent", *_FAMILIES):
        return f"a rule for {tool} takes nothing in parentheses"
    return Rule(tool, spec)


def is_granted(
    rules: Iterable[str],
    tool: str,
    tool_input: Mapping[str, Any],
    *,
    project: str,
    resolve: Resolve,
) -> bool:
    """Whether any rule grants the call.

    `project` is the real path of the project; `resolve` makes a path of the tool's
    absolute, with links followed.
    """
    parsed = (parse_rule(rule) for rule in rules)
    return any(
        isinstance(rule, Rule) and _grants(rule, tool, tool_input, project, resolve)
        for rule in parsed
    )


def is_about(rule: Rule, tool: str) -> bool:
    """Whether a rule speaks of a tool, by the client's name; not what it grants."""
    if tool in _FAMILIES.get(rule.tool, {rule.tool}):
        return True
    prefix = rule.tool.rstrip("*").removesuffix("__") + "__"
    is_server = rule.tool.startswith("mcp__")
    return is_server and rule.spec is None and tool.startswith(prefix)


def _grants(
    rule: Rule,
    tool: str,
    tool_input: Mapping[str, Any],
    project: str,
    resolve: Resolve,
) -> bool:
    if not is_about(rule, tool):
        return False
    if tool == "Bash":
        return _grants_command(rule.spec, tool_input)
    if rule.tool in _FAMILIES:
        return _grants_path(rule, tool, tool_input, project, resolve)
    if rule.spec is None:
        return True
    if tool == "Agent":
        return bool(tool_input.get("subagent_type") == rule.spec)
    url = tool_input.get("url")
    host = urlsplit(url).hostname if isinstance(url, str) else None
    return host == rule.spec.removeprefix("domain:").lower()


def _grants_command(spec: str | None, tool_input: Mapping[str, Any]) -> bool:
    command = tool_input.get("command")
    if not isinstance(command, str) or tool_input.get("dangerouslyDisableSandbox"):
        return False
    if spec is None or command == spec:
        return True
    if shell_sign(command) is not None:
        return False
    return command_pattern(spec).fullmatch(command.strip()) is not None


def command_pattern(spec: str) -> re.Pattern[str]:
    """What stands in the parentheses of a `Bash` rule, for the whole of a command."""
    # `pytest:*` is the client's older way to write `pytest *`.
    spec = re.sub(r":\*\Z", " *", spec)
    # `pytest *` covers bare `pytest`, too.
    is_open = spec.endswith(" *")
    first, *rest = map(re.escape, spec.removesuffix(" *").split("*"))
    pattern = first
    if rest:
        # Atomic: what a word between two stars is first found at will do. To try all
        # the places takes a rule of five stars and a long command for ever.
        *words, last = rest
        pattern += "".join(f"(?>.*?{word})" for word in words) + f".*{last}"
    return re.compile(pattern + (r"(?:\ .*)?" if is_open else ""))


def _grants_path(
    rule: Rule,
    tool: str,
    tool_input: Mapping[str, Any],
    project: str,
    resolve: Resolve,
) -> bool:
    given = next((v for k in _PATH_KEYS if isinstance(v := tool_input.get(k), str)), "")
    real = resolve(given or ".")
    spec = rule.spec or ""
    below, governing = PurePosixPath(real), _governing(real)
    if below.is_relative_to(project) and not spec.startswith("//"):
        below = below.relative_to(project)
        governing = _governing(below) | _governing_above(project)
    if tool in _FAMILIES["Edit"] and governing - _governing(spec):
        return False
    if rule.spec is None:
        return True
    wanders = tool_input.get("pattern") if tool == "Glob" else None
    if isinstance(wanders, str) and (wanders[:1] in "/~" or ".." in wanders):
        return False
    if spec.startswith("//"):
        return covers(spec[1:], real)
    if below.is_absolute():
        return False
    return covers(from_root(spec), str(below))


def _governing(path: PurePosixPath | str) -> set[str]:
    """Which folders a path goes through that govern a session; case is no matter.

    On a file system that takes `.Claude` for `.claude` it is one.
    """
    return {part.casefold() for part in PurePosixPath(path).parts} & _GOVERNING


def _governing_above(project: str) -> set[str]:
    """As `_governing`, but for `.claude/worktrees/`, where the client keeps worktrees.

    What is in one of these is a project as any other; a project that is `.claude`
    itself is what governs.
    """
    parts = [part.casefold() for part in PurePosixPath(project).parts]
    below = zip(parts, [*parts[1:], ""], strict=True)
    return {
        part for part, after in below if (part, after) != (".claude", "worktrees")
    } & _GOVERNING
