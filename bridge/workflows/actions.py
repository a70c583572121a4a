"""The actions of a workflow, in both spellings, compiled.

    - inject_message: "…"
    - set_variable: {name: value}
    - increment_variable: name
    - call_tool: {tool: get_task, arguments: {…}, into: name}
    - spawn_agent: {agent: …, prompt: "…", into: name}

or `action: NAME` with the fields beside it, as public files write it: `content` of a
message, `name` and `value` of a variable, `server_name`, `tool_name` and `output_as` of
`call_mcp_tool`. Each may have `when`.

Whose the variables are that steps set: what tools' results set belongs to them, and so
does what is counted up: a model that may set it could end a loop that counts its
attempts. The rest is the model's, unless the file says otherwise in `owners`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from bridge.agents.diagnostic import Place, describe
from bridge.hints import did_you_mean
from bridge.pipelines.foreign import foreign
from bridge.policy.tool_names import is_own_server
from bridge.workflows.tool_lists import (
    SPAWNS,
    callable_tools,
    near_tool,
    wrong_arguments,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from bridge.agents.yaml_source import Tree
    from bridge.policy.step_record import Action
    from bridge.workflows.expressions import StepExpressions

    Json = dict[str, Any]

KINDS = (
    "inject_message", "set_variable", "increment_variable", "call_tool", "spawn_agent",
)  # fmt: skip
_FIELDS = {
    "inject_message": ("content", "message"),
    "set_variable": ("name", "variable", "value"),
    "increment_variable": ("name", "variable", "by", "amount"),
    "call_tool": (
        "tool", "tool_name", "server", "server_name", "arguments", "into", "output_as",
    ),
    "spawn_agent": (
        "agent", "prompt", "mode", "model", "workflow", "task_id", "arguments",
        "variables", "schema", "timeout", "into", "output_as",
    ),
}  # fmt: skip


class ActionReader:
    """Reads the actions of one file.

    Attributes:
        sets: the variables that they set, and whose each is: a model's or a tool's.
        is_of_tools: what is read now is done about the result of a tool.
    """

    def __init__(
        self,
        tree: Tree,
        expressions: StepExpressions,
        where: str,
        check_agent: Callable[[str], str | None],
    ) -> None:
        self.tree = tree
        self.expressions = expressions
        self.where = where
        self.check_agent = check_agent
        self.sets: dict[str, str] = {}
        self.is_of_tools = False

    def at(self, place: Place) -> str:
        """The file and the line of a place."""
        return f"{self.where}:{self.tree.line_of(place)}"

    def read(self, place: Place, items: Any) -> list[Action]:
        """The actions of a list; those that are wrong are left out."""
        if isinstance(items, dict):
            items = [items]
        if not isinstance(items, list):
            self.tree.error(place, f"expected actions, got {describe(items)}")
            return []
        found = (self.one((*place, n), item) for n, item in enumerate(items))
        return [action for action in found if action is not None]

    def one(self, place: Place, item: Any) -> Action | None:
        """One action."""
        named = kind_of(item)
        if named is None:
            what = f"expected one of {', '.join(KINDS)}, got {describe(item)}"
            self.tree.error(place, what)
            return None
        written, kind, fields, at = named
        if kind not in KINDS:
            hint = did_you_mean(written, (*KINDS, *foreign("actions")))
            way = hint or f"; there are {', '.join(KINDS)}"
            way = foreign("no_actions").get(written, way)
            self.tree.error((*place, *at), f"unknown action {written!r}{way}")
            return None
        self.note(kind, fields)
        self._check_fields(kind, (*place, *at), fields)
        action: Json = {"do": kind, "at": self.at(place)}
        if "when" in item:
            action["when"] = self.expressions.condition((*place, "when"), item["when"])
        read = getattr(self, f"_{kind}")
        more = read((*place, *(at if kind in item else ())), fields)
        return None if more is None else cast("Action", {**action, **more})

    def _check_fields(self, kind: str, place: Place, fields: Any) -> None:
        """Check the names of an action's fields, where they are no variables."""
        if not isinstance(fields, dict) or not _has_fields(kind, fields):
            return
        outer = place[:-1] if "action" in fields else place
        for name in fields.keys() - {*_FIELDS[kind], "action", "when"}:
            if name in foreign("ignored_of_actions").get(kind, ()):
                self.tree.warn((*outer, name), "changes nothing here")
            else:
                hint = did_you_mean(name, _FIELDS[kind])
                self.tree.error((*outer, name), f"unknown field{hint}")

    # Each kind; None if nothing is left of it

    def _inject_message(self, place: Place, fields: Any) -> Json | None:
        if isinstance(fields, str):
            return {"text": self.expressions.template(place, fields)}
        key = next((k for k in ("content", "message") if k in fields), None)
        if key is None:
            self.tree.error(place, "has no content")
            return None
        return {"text": self.expressions.template((*place, key), fields[key])}

    def _set_variable(self, place: Place, fields: Any) -> Json | None:
        return self.set_in(place, fields, self.expressions.value)

    def note(self, kind: str, fields: Any) -> None:
        """Note the variables that an action sets, whatever is wrong with it."""
        names: Collection[str] = ()
        if kind == "set_variable":
            names = [name for name, *_ in pairs_of((), fields)]
        elif kind == "increment_variable":
            names = counts_of(fields)
        elif isinstance(fields, dict):
            into = fields.get("into", fields.get("output_as"))
            names = [into] if isinstance(into, str) else ()
        for name in names:
            if self.is_of_tools or kind != "set_variable":
                self.sets[name] = "tool"
            self.sets.setdefault(name, "model")

    def set_in(
        self, place: Place, fields: Any, compiled: Callable[[Place, Any], Any]
    ) -> Json | None:
        """The variables that are set, their values `compiled`."""
        self.note("set_variable", fields)
        values = {}
        for name, value, at in pairs_of(place, fields):
            if self.expressions.name(at, name):
                values[name] = compiled(at, value)
        if not values:
            self.tree.error(
                place, f"expected values by variable, got {describe(fields)}"
            )
        return {"values": values} if values else None

    def _increment_variable(self, place: Place, fields: Any) -> Json | None:
        by = counts_of(fields)
        for name, step in by.items():
            self.expressions.name(place, name)
            if isinstance(step, bool) or not isinstance(step, (int, float)):
                self.tree.error(place, f"expected a number, got {describe(step)}")
                return None
        if not by:
            what = "expected a variable, or numbers by variable, got "
            self.tree.error(place, what + describe(fields))
        return {"by": by} if by else None

    def _call_tool(self, place: Place, fields: Any) -> Json | None:
        if isinstance(fields, str):
            fields = {"tool": fields}
        tool = fields.get("tool", fields.get("tool_name"))
        server = fields.get("server", fields.get("server_name"))
        at = (*place, "tool" if "tool" in fields else "tool_name")
        if not isinstance(tool, str) or not tool:
            self.tree.error(place, "has no tool")
            return None
        if server is not None and not is_own_server(str(server)):
            key = "server" if "server" in fields else "server_name"
            self.tree.error(
                (*place, key),
                f"a step calls tools of hostbridge only, not of the server {server!r}: "
                "tell the model to call it, with inject_message",
            )
            return None
        if tool in SPAWNS:
            given = fields.get("arguments")
            given = dict(given) if isinstance(given, dict) else {}
            into = fields.get("into", fields.get("output_as"))
            spawned = self._spawn((*place, "arguments"), given, into, place)
            return None if spawned is None else {"do": "spawn_agent", **spawned}
        if tool not in callable_tools():
            hint = near_tool(tool, callable_tools() | SPAWNS)
            way = hint or f"; there are {', '.join(sorted(callable_tools()))}"
            self.tree.error(at, f"no tool is named {tool!r}{way}")
            return None
        arguments = fields.get("arguments", {})
        code = self.expressions.value((*place, "arguments"), arguments)
        if not isinstance(arguments, dict):
            what = f"expected a mapping, got {describe(arguments)}"
            self.tree.error((*place, "arguments"), what)
            return None
        for name, why in wrong_arguments(tool, arguments).items():
            at = (*place, "arguments", name) if name else place
            self.tree.error(at, why)
        action: Json = {"tool": tool, "arguments": code}
        return action | self._into(place, fields)

    def _spawn_agent(self, place: Place, fields: Any) -> Json | None:
        if isinstance(fields, str):
            fields = {"agent": fields}
        into = fields.get("into", fields.get("output_as"))
        return self._spawn(place, fields, into, place)

    def _spawn(self, place: Place, fields: Any, into: Any, outer: Place) -> Json | None:
        agent = fields.get("agent")
        if not isinstance(agent, str) or not agent:
            self.tree.error(place, "has no agent")
            return None
        if "{" not in agent and (why := self.check_agent(agent)):
            self.tree.error((*place, "agent"), why)
        names = (
            "agent", "mode", "model", "workflow", "task_id", "arguments", "variables",
            "schema", "timeout",
        )  # fmt: skip
        given = {name: fields[name] for name in names if fields.get(name) is not None}
        action: Json = {"arguments": self.expressions.value(place, given)}
        action["agent"] = None if "{" in agent else agent
        if fields.get("prompt") is not None:
            action["prompt"] = self.expressions.template(
                (*place, "prompt"), fields["prompt"]
            )
        return action | self._into(outer, {"into": into})

    def _into(self, place: Place, fields: Any) -> Json:
        name = fields.get("into", fields.get("output_as"))
        if name is None or not self.expressions.name((*place, "into"), name):
            return {}
        return {"into": name}


class StepPart:
    """What a reader of a step, or of a part of one, knows of its file."""

    def __init__(self, place: Place, actions: ActionReader) -> None:
        self.place = place
        self.actions = actions
        self.tree = actions.tree
        self.expressions = actions.expressions


def _has_fields(kind: str, fields: Json) -> bool:
    """Whether these are fields of an action, and not variables with their values."""
    if kind == "set_variable":
        return "value" in fields
    return kind != "increment_variable" or bool({"name", "variable"} & fields.keys())


def kind_of(item: Any) -> tuple[str, str, Any, Place] | None:
    """An action's name as written, its kind, its fields, and where they stand."""
    if not isinstance(item, dict):
        return None
    ours = foreign("actions")
    if "action" in item:
        written = str(item["action"])
        return written, ours.get(written, written), item, ("action",)
    names = [name for name in item if name != "when"]
    if len(names) != 1:
        return None
    written = names[0]
    return written, ours.get(written, written), item[written], (written,)


def pairs_of(place: Place, fields: Any) -> list[tuple[str, Any, Place]]:
    """Variables that `set_variable` sets, with their values and places."""
    if not isinstance(fields, dict):
        return []
    name = fields.get("name", fields.get("variable"))
    if isinstance(name, str) and "value" in fields:
        return [(name, fields["value"], (*place, "value"))]
    if "action" in fields:
        return []
    return [(name, value, (*place, name)) for name, value in fields.items()]


def counts_of(fields: Any) -> Json:
    """By how much `increment_variable` counts which variables up."""
    if isinstance(fields, str):
        return {fields: 1}
    if not isinstance(fields, dict):
        return {}
    name = fields.get("name", fields.get("variable"))
    if isinstance(name, str):
        return {name: fields.get("by", fields.get("amount", 1))}
    return {} if "action" in fields else dict(fields)
