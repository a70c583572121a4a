"""One step of a workflow, compiled: its gate, its actions, and the ways out of it.

And whether all of them lead where they should.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from bridge.agents.diagnostic import Place
from bridge.agents.validate import check
from bridge.hints import did_you_mean, meant
from bridge.pipelines.foreign import without_foreign
from bridge.policy.condition import operations
from bridge.workflows import tool_lists
from bridge.workflows.actions import StepPart
from bridge.workflows.fields import (
    CommandFields,
    StepFields,
    StepRuleFields,
    StopFields,
    TransitionFields,
)
from bridge.workflows.handlers import HandlerReader

if TYPE_CHECKING:
    from bridge.agents.yaml_source import Tree
    from bridge.policy.step_record import (
        CompiledStep,
        CompiledWorkflow,
        Gate,
        GateRule,
        PrematureStop,
        Transition,
    )
    from bridge.workflows.actions import ActionReader
    from bridge.workflows.expressions import StepExpressions

_STOPS = 3
_SHELLS = ["Bash", "Monitor", "PowerShell"]


def fields_of(tree: Tree, place: Place, value: Any) -> StepFields | None:
    """The fields of a step; None if it has no name that others could use."""
    if isinstance(value, dict):
        value = without_foreign(tree, place, value, "step")
    _, fields = check(StepFields, tree, value, place)
    return fields if isinstance(fields.name, str) else None


def stop_in(
    tree: Tree, place: Place, value: Any, expressions: StepExpressions
) -> PrematureStop | None:
    """What is said at a premature end of a turn."""
    if isinstance(value, str):
        return {"message": expressions.template(place, value), "max": _STOPS}
    _, fields = check(StopFields, tree, value, place)
    if not fields.message:
        return None
    message = expressions.template((*place, "message"), fields.message)
    return {"message": message, "max": fields.max or _STOPS}


class StepReader(StepPart):
    """Reads one step."""

    def __init__(self, place: Place, actions: ActionReader, fields: StepFields) -> None:
        super().__init__(place, actions)
        self.fields = fields

    def read(self, names: dict[str, int], after: str | None) -> CompiledStep:
        """The compiled step; `after` is the step written next."""
        fields, place = self.fields, self.place
        handlers = HandlerReader(place, self.actions)
        code: CompiledStep = {
            "at": self.actions.at(place),
            "status": None,
            "gate": self._gate(),
            "enter": self.actions.read((*place, "on_enter"), fields.on_enter),
            "exit": self.actions.read((*place, "on_exit"), fields.on_exit),
            "onTool": handlers.read(fields),
            "transitions": self._transitions(names, after),
            "asks": [],
        }
        if fields.status_message is not None:
            at = (*place, "status_message")
            code["status"] = self.expressions.template(at, fields.status_message)
        if fields.on_premature_stop is not None:
            at = (*place, "on_premature_stop")
            value = fields.on_premature_stop
            if (stop := stop_in(self.tree, at, value, self.expressions)) is not None:
                code["stop"] = stop
        asked = {n for t in code["transitions"] for n in names_in(t["when"])}
        code["asks"] = sorted(asked)
        return code

    def _gate(self) -> Gate:
        fields, place, tree = self.fields, self.place, self.tree
        allowed, blocked = fields.allowed_tools, fields.blocked_tools
        servers, refused = fields.allowed_mcp_tools, fields.blocked_mcp_tools
        at, at_servers = (*place, "blocked_tools"), (*place, "blocked_mcp_tools")
        return {
            "tools": tool_lists.tools_in(tree, (*place, "allowed_tools"), allowed),
            "blocked": tool_lists.refused_in(tree, at, blocked, allowed),
            "mcp": tool_lists.servers_in(tree, (*place, "allowed_mcp_tools"), servers),
            "blockedMcp": tool_lists.refused_servers_in(tree, at_servers, refused),
            "rules": [*self._commands(), *self._rules()],
        }

    def _commands(self) -> list[GateRule]:
        """`blocked_commands`, as rules."""
        found: list[GateRule] = []
        for number, value in enumerate(self.fields.blocked_commands):
            place = (*self.place, "blocked_commands", number)
            whole, fields = check(CommandFields, self.tree, value, place)
            if whole is None:
                continue
            words = fields.pattern.removesuffix("*").strip()
            command = ["name", 0, "command"]
            is_plain = words and "*" not in words and "?" not in words
            code = ["runs", 0, command, words]
            if not is_plain:
                code = ["matches", 0, command, fields.pattern]
            elif fields.pattern.endswith("*") and fields.pattern[-2:-1].strip():
                # `git pu*` is git push, too.
                code = ["or", 0, code, ["matches", 0, command, fields.pattern]]
            text = f"command {fields.pattern}"
            reason = fields.reason or f"the command {fields.pattern} is refused here"
            found.append({
                "when": code, "text": text, "at": self.actions.at(place),
                "reason": reason, "block": True, "tools": _SHELLS,
            })  # fmt: skip
        return found

    def _rules(self) -> list[GateRule]:
        found: list[GateRule] = []
        for number, value in enumerate(self.fields.rules):
            place = (*self.place, "rules", number)
            given = _with_message(value)
            whole, fields = check(StepRuleFields, self.tree, given, place)
            if whole is None:
                continue
            if "{{" in fields.message or "{%" in fields.message:
                why = "expected plain text: a rule says it before anything is filled in"
                self.tree.error((*place, "message"), why)
            tools = None
            if fields.tools is not None:
                at = (*place, "tools")
                tools = tool_lists.tools_in(self.tree, at, fields.tools)
            rule: GateRule = {
                "when": self.expressions.condition((*place, "when"), fields.when),
                "text": str(fields.when),
                "at": self.actions.at(place),
                "reason": " ".join(fields.message.split()),
                "block": fields.action == "block",
            }
            if tools:
                rule["tools"] = tools
            found.append(rule)
        return found

    def _transitions(
        self, names: dict[str, int], after: str | None
    ) -> list[Transition]:
        found: list[Transition] = []
        for number, value in enumerate(self.fields.transitions):
            place = (*self.place, "transitions", number)
            _, fields = check(TransitionFields, self.tree, value, place)
            at = (*place, "on_transition")
            deeds = self.actions.read(at, fields.on_transition)
            if not isinstance(fields.to, str):
                continue
            if fields.to not in names:
                way = meant(fields.to, names)
                self.tree.error((*place, "to"), f"no step is named {fields.to!r}{way}")
            found.append({
                "to": fields.to,
                "when": self.expressions.condition((*place, "when"), fields.when),
                "text": _written(fields.when),
                "at": self.actions.at(place),
                "do": deeds,
            })  # fmt: skip
        if self.fields.exit_when is not None:
            found += self._next(after)
        return found

    def _next(self, after: str | None) -> list[Transition]:
        """`exit_when`: the way to the step that is written next."""
        place, when = (*self.place, "exit_when"), self.fields.exit_when
        if after is None:
            self.tree.error(
                place,
                "there is no step after this one: the workflow's end is its "
                "exit_condition",
            )
            return []
        code = self.expressions.condition(place, when)
        text, at = _written(when), self.actions.at(place)
        return [{"to": after, "when": code, "text": text, "at": at, "do": []}]


def names_in(code: Any) -> set[str]:
    """The names that compiled code asks for, also as fields of `variables`."""
    at = {"name": 2, "get": 3, "get_or": 3}
    asked = (each[at[each[0]]] for each in operations(code) if each[0] in at)
    return {name for name in asked if isinstance(name, str)}


def _written(when: Any) -> str:
    text = str(when).lower() if isinstance(when, bool) else " ".join(str(when).split())
    return "it is entered" if text == "true" else text


def _with_message(value: Any) -> Any:
    """A rule whose text is called `reason`, as it is for commands."""
    if isinstance(value, dict) and "message" not in value and "reason" in value:
        return {**value, "message": value["reason"]}
    return value


def check_paths(tree: Tree, code: CompiledWorkflow, names: Collection[str]) -> None:
    """Check that every step can be entered, and that the end can be reached."""
    steps = code["steps"]
    if not steps:
        return
    ways = {
        name: [t["to"] for t in step["transitions"]] for name, step in steps.items()
    }
    reached = _reachable(ways, [code["first"]])
    for number, name in enumerate(steps):
        if name not in reached:
            message = f"no transition leads to the step {name!r}"
            tree.warn(("steps", number), message)
    ends = exit_steps(code["exit"])
    if ends is None:
        return
    at: Place = ("exit_condition",)
    for name in sorted(ends - set(steps)):
        hint = did_you_mean(name, names)
        tree.error(at, f"no step is named {name!r}{hint}")
    known = ends & steps.keys()
    if known and not known & reached:
        named = ", ".join(sorted(known))
        tree.error(at, f"no transition leads to {named}: the workflow would never end")
    elif known:
        _warn_of_dead_ends(tree, ways, known & reached, reached)


def _warn_of_dead_ends(
    tree: Tree,
    ways: dict[str, list[str]],
    ends: set[str],
    reached: set[str],
) -> None:
    back: dict[str, list[str]] = {name: [] for name in ways}
    for name, tos in ways.items():
        for to in tos:
            back.setdefault(to, []).append(name)
    good = _reachable(back, ends)
    for number, name in enumerate(ways):
        if name in reached and name not in good:
            message = f"no way leads from the step {name!r} to the end"
            tree.warn(("steps", number), message)


def _reachable(ways: dict[str, list[str]], first: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(first)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += ways.get(name, ())
    return found


def exit_steps(code: Any) -> set[str] | None:
    """The steps that an exit condition names; None if it asks for more than that."""
    match code:
        case ["compare", _, ["name", _, "current_step"], "==", str(name)]:
            return {name}
        case ["compare", _, str(name), "==", ["name", _, "current_step"]]:
            return {name}
        case ["compare", _, ["name", _, "current_step"], "in", ["list", _, *names]]:
            return set(names) if all(isinstance(n, str) for n in names) else None
        case ["or", _, *parts]:
            found = [exit_steps(part) for part in parts]
            if any(each is None for each in found):
                return None
            return {name for each in found for name in each or ()}
    return None
