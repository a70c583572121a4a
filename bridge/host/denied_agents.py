"""Why a session's model has no tool that starts agents: it would ignore every offer.

Denied as a whole the tool is not there, so no call of it can fail and no hook hears of
one. A rule about one agent (`Agent(researcher)`) lets the call fail, with its reason.

Source: measured on Claude Code 2.1.332.
"""

import re
from collections.abc import Iterator, Sequence

from bridge.host.context import HookContext
from bridge.host.user_rules import rules_in, rules_of_text, settings_files
from bridge.store.host_process import arguments_of

_NAMES = frozenset({"Agent", "Task"})
_RULES = frozenset({*_NAMES, "Agent(*)", "Task(*)", "*"})
_DENY = ("--disallowedTools", "--disallowed-tools")
_ONLY = "--tools"
_SETTINGS, _SOURCES = "--settings", "--setting-sources"
# Those of `settings_files`.
_LAYERS = ("managed", "user", "project", "local")
_ALL = frozenset({"default", "preset:default"})
# What is in parentheses belongs to the rule: `Bash(git * main)`.
_RULE = re.compile(r"(?:\([^)]*\)?|[^, (])+")


def why_no_agents(hook: HookContext) -> str | None:
    """What keeps every agent from this session; None if nothing that can be seen."""
    arguments = arguments_of(hook.session.host.pid)
    if option := denying_option(arguments):
        return f"the session was started with {option}"
    files = settings_files(hook.settings.claude_dir, hook.store.place.project)
    options = dict(_options(arguments))
    named = options.get(_SETTINGS, [])
    if _SOURCES in options:
        chosen = {"managed", *",".join(options[_SOURCES]).replace(" ", "").split(",")}
        files = tuple(f for of, f in zip(_LAYERS, files, strict=True) if of in chosen)
    for file in (*files, *named[:1]):
        for rule in _deny_rules(file):
            if rule in _RULES:
                return f"{file} has {rule!r} in permissions.deny"
    return None


def denying_option(arguments: Sequence[str]) -> str | None:
    """The option of a command line that takes the tool away; None if there is none."""
    for option, values in _options(arguments):
        value = " ".join(values)
        # Of the whole: where `ps` tells the arguments, each word is one.
        named = {*_RULE.findall(value)}
        if option in _DENY and named & _RULES:
            return f"{option} {value}"
        is_all = value.strip().lower() in _ALL or named & _ALL
        if option == _ONLY and not is_all and not named & _NAMES:
            return f"{option} {value!r}, which leaves out Agent"
    return None


def _deny_rules(settings: str) -> Iterator[str]:
    """The rules of a file, or of settings that stand on the command line."""
    if settings.startswith("{"):
        return rules_of_text(settings.encode(), "deny")
    return rules_in(settings, "deny")


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each option with all that follows it up to the next one."""
    option, values = "", list[str]()
    for each in arguments:
        is_value = option in (*_DENY, _ONLY, _SETTINGS, _SOURCES) and not values
        if is_value or not each.startswith("-"):
            values.append(each)
            continue
        yield option, values
        option, has_value, value = each.partition("=")
        values = [value] if has_value else []
    yield option, values
