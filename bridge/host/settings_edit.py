"""Our hooks in the text of a Claude Code settings file: add, find, remove.

Pure. Whatever is not ours keeps its bytes. Text that cannot be understood is an error
with its place; nothing is guessed.
"""

from json.decoder import JSONDecodeError
from typing import Any

from bridge.errors import BridgeError
from bridge.host.hook_table import Form, entries, kind_of
from bridge.host.json_edit import JsonNode, JsonPart, insert, parse, remove

EMPTY = "{}\n"
_NAMES = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}


class SettingsUnreadable(BridgeError):
    """The settings are not in Claude Code's form, or may not be changed."""

    code = "settings_unreadable"


def read(text: str, name: str) -> JsonNode:
    """Parse settings; `name` is the file's, for the message.

    Raises:
        SettingsUnreadable: not a JSON object, or its hooks are not laid out as hooks.
    """
    try:
        root = parse(text.removeprefix("\ufeff"))
    except JSONDecodeError as exc:
        why = exc.msg[:1].lower() + exc.msg[1:]
        if exc.doc[exc.pos : exc.pos + 2] in ("//", "/*"):
            why = "a comment, for which JSON has no room"
        raise SettingsUnreadable(f"{name}:{exc.lineno}:{exc.colno}: {why}") from None
    for node, path, kind in _must_be(root):
        if not isinstance(node.value, kind):
            raise SettingsUnreadable(
                f"{name}: {path}: expected {_NAMES[kind]}, got {kind_name(node.value)}"
            )
    return root


def add(text: str, form: Form, name: str) -> str:
    """Add our hooks after whatever is there; older ones of ours are replaced.

    Raises:
        SettingsUnreadable: see `read`.
    """
    text = take_out(text, name)
    bom, text = _split_bom(text)
    if not text.strip():
        text = EMPTY
    root = read(text, name)
    if root.find("hooks") is None:
        return bom + insert(text, root, entries(form), "hooks")
    for event, groups in entries(form).items():
        for group in groups:
            text = _add_group(text, event, group, name)
    return bom + text


def _add_group(text: str, event: str, group: dict[str, Any], name: str) -> str:
    hooks = read(text, name).find("hooks")
    assert hooks is not None  # noqa: S101 - the caller has seen it
    groups = hooks.node.find(event)
    if groups is None:
        return insert(text, hooks.node, [group], event)
    return insert(text, groups.node, group)


def take_out(text: str, name: str) -> str:
    """Remove what is ours, and what is then empty.

    Raises:
        SettingsUnreadable: see `read`.
    """
    bom, text = _split_bom(text)
    while text.strip():
        shorter = _take_one(text, name)
        if shorter is None:
            break
        text = shorter
    return bom + text


def _take_one(text: str, name: str) -> str | None:
    """The text without one of our hooks; None if there is none."""
    root = read(text, name)
    hooks = root.find("hooks")
    if hooks is None:
        return None
    for event in hooks.node.parts:
        for group in event.node.parts:
            commands = group.node.find("hooks")
            for command in commands.node.parts if commands else ():
                if kind_of(command.node.value):
                    assert commands is not None  # noqa: S101 - it has parts
                    trail = [(root, hooks), (hooks.node, event)]
                    trail += [(event.node, group), (commands.node, command)]
                    return _cut(text, trail, group)
    return None


def _cut(text: str, trail: list[tuple[JsonNode, JsonPart]], group: JsonPart) -> str:
    """Remove the outermost part on the trail that would be left empty."""
    whole, part = trail[-1]
    for outer, holder in reversed(trail[:-1]):
        if len(whole.parts) > 1:
            break
        whole, part = outer, holder
        # A group goes with its last hook, and so does its matcher.
        if part is group and len(whole.parts) > 1:
            break
    return remove(text, whole, part)


def ours(text: str, name: str) -> list[dict[str, Any]]:
    """Our hooks as they stand: `{event, matcher, command}` each, in order."""
    if not text.strip("\ufeff \t\r\n"):
        return []
    hooks = read(text, name).value.get("hooks") or {}
    return _flat(hooks)


def wanted(form: Form) -> list[dict[str, Any]]:
    """What `ours` gives after an install of this form."""
    return _flat(entries(form))


def _flat(hooks: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"event": event, "matcher": group.get("matcher"), "command": command}
        for event, groups in hooks.items()
        for group in groups
        for command in group.get("hooks", [])
        if kind_of(command)
    ]


def _must_be(root: JsonNode) -> list[tuple[JsonNode, str, type]]:
    """The existing parts that must be objects or lists."""
    musts: list[tuple[JsonNode, str, type]] = [(root, "the whole file", dict)]
    hooks = root.find("hooks")
    if hooks is None:
        return musts
    musts.append((hooks.node, "hooks", dict))
    for event in hooks.node.parts:
        path = f"hooks.{event.key}"
        musts.append((event.node, path, list))
        for number, group in enumerate(event.node.parts):
            musts.append((group.node, f"{path}[{number}]", dict))
            commands = group.node.find("hooks")
            if commands is not None:
                musts.append((commands.node, f"{path}[{number}].hooks", list))
    return musts


def kind_name(value: object) -> str:
    """What a value of JSON is, in words."""
    if value is None:
        return "null"
    return _NAMES.get(type(value), "a number")


def _split_bom(text: str) -> tuple[str, str]:
    return ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
