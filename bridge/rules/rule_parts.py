"""The parts of one rule, compiled, with problems at their places in the file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bridge.agents import templates
from bridge.agents.diagnostic import Place, describe
from bridge.agents.expressions import Expressions
from bridge.hints import did_you_mean
from bridge.policy import tool_names
from bridge.policy.condition_compiler import (
    EVENT_NAMES,
    compile_condition,
    shadowed,
)
from bridge.policy.rule_set import TOOL_EVENTS
from bridge.protocol.names import MODEL_NAMES, is_model
from bridge.rules.never_holds import (
    asked_in,
    holding_for_no_tool,
    missing,
    never_holding,
)

if TYPE_CHECKING:
    from bridge.agents.yaml_source import Tree

    Json = dict[str, Any]

# Events whose answer can keep something from happening, and those that take text.
CAN_BLOCK = {"on_user_prompt", "on_before_tool", "on_subagent_stop", "on_stop"}
_TAKES_CONTEXT = {
    "on_session_start", "on_user_prompt", "on_before_tool", "on_after_tool",
}  # fmt: skip


def wrong_names(variables: Collection[str], kept: Collection[str]) -> list[str]:
    """Why these variables cannot be set; those in `kept` are the user's."""
    mine = "your own rules.yaml sets this variable: a project cannot"
    return [*shadowed(variables), *(mine for name in variables if name in kept)]


class RuleReader(Expressions):
    """Reads one rule of a tree."""

    known: frozenset[str]
    way = "; a variable that nobody declares is variables.{0}"

    def __init__(
        self,
        tree: Tree,
        place: Place,
        known: Collection[str],
        inherited: Collection[str],
        check_agent: Callable[[str], str | None],
    ) -> None:
        self.declared = frozenset(known)
        super().__init__(tree, self.declared | frozenset(EVENT_NAMES))
        self.place = place
        self.event = str(place[0])
        self.inherited = inherited
        self.check_agent = check_agent
        self._code: Json = {}

    def error(self, place: Place, message: str) -> None:
        """Add an error at a field, or at the rule if the field is inherited."""
        super().error(self.place if self._inherits(place) else place, message)

    def error_in(self, place: Place, at: int, message: str) -> None:
        """The same of one character of a field."""
        if self._inherits(place):
            self.error(place, message)
        else:
            super().error_in(place, at, message)

    def _inherits(self, place: Place) -> bool:
        return place[len(self.place)] in self.inherited

    def wrong(self, name: str, message: str, *more: str | int) -> None:
        """Add an error at a field of this name."""
        self.error((*self.place, name, *more), message)

    def conditions(self, when: Any, tools: Any) -> Json:
        """`when` and `tools`."""
        code: Json = {}
        if isinstance(when, bool):
            code["when"] = when
        elif isinstance(when, str):
            place = (*self.place, "when")
            if (compiled := self.compiled(place, when, compile_condition)) is not None:
                code["when"] = compiled
        elif when is not None:
            self.wrong("when", f"expected a condition, got {describe(when)}")
        if tools is not None:
            code |= self._tools(tools)
        self._code = code
        self._warn_of(code)
        return code

    def _warn_of(self, code: Json) -> None:
        never = list(
            never_holding(code.get("when"), self.event, self.declared, self.check_agent)
        )
        if not never and self.event in TOOL_EVENTS:
            never = [why for why in [holding_for_no_tool(code)] if why]
        for why in never:
            self.tree.warn((*self.place, "when"), why)
        self._check_input(asked_in(code.get("when")), "when")

    def _check_input(self, asked: Iterable[str], *at: str) -> None:
        """Warn of fields of `tool_input` that the rule's tools do not have."""
        if self.event in TOOL_EVENTS:
            for why in missing(asked, self._code):
                self.tree.warn((*self.place, *at), why)

    def _tools(self, tools: Any) -> Json:
        if self.event not in TOOL_EVENTS:
            self.wrong("tools", f"{self.event} is about no tool")
            return {}
        named = [tools] if isinstance(tools, str) else tools
        if not isinstance(named, list) or not named:
            self.wrong("tools", f"expected names of tools, got {describe(tools)}")
            return {}
        for position, name in enumerate(named):
            at = (position,) if isinstance(tools, list) else ()
            if not isinstance(name, str):
                message = f"expected the name of a tool, got {describe(name)}"
                self.wrong("tools", message, *at)
            elif "|" in name:
                message = f"{name!r}: write [{name.replace('|', ', ')}]"
                self.wrong("tools", message, *at)
            elif "(" in name:
                message = f"{name!r}: name the whole tool; the rest belongs in `when`"
                self.wrong("tools", message, *at)
            elif not tool_names.is_known(name) and "*" not in name:
                hint = did_you_mean(name, tool_names.KNOWN)
                if hint:
                    self.wrong("tools", f"there is no tool {name!r}{hint}", *at)
                else:
                    place = (*self.place, "tools", *at)
                    self.tree.warn(place, f"unknown tool {name!r}")
        names = tuple(name for name in named if isinstance(name, str))
        return {"tools": list(tool_names.on_host(names))}

    def variables(
        self,
        changed: Mapping[str, Any] | None,
        counted: Any,
        kept: Collection[str],
    ) -> Json:
        """`set_variable` and `increment_variable`."""
        code: Json = {}
        if changed:
            code["set_variable"] = {
                name: self.value((*self.place, "set_variable", name), value)
                for name, value in changed.items()
            }
        if isinstance(counted, str):
            counted = {counted: 1}
        if isinstance(counted, dict) and counted:
            for name, by in counted.items():
                if isinstance(by, bool) or not isinstance(by, (int, float)):
                    message = f"expected a number, got {describe(by)}"
                    self.wrong("increment_variable", message, name)
            code["increment_variable"] = counted
        elif counted is not None:
            message = "expected a variable, or numbers by variable, got "
            self.wrong("increment_variable", message + describe(counted))
        self._check_names(code, kept)
        return code

    def _check_names(self, code: Json, kept: Collection[str]) -> None:
        for field, names in code.items():
            for name in names:
                for problem in wrong_names([name], kept):
                    self.wrong(field, problem, name)

    def text(self, place: Place, source: str) -> Any:
        """A value that a variable gets: itself, or what `${{ … }}` in it says."""
        if "{{" in source.replace("${{", ""):
            self.error(place, "write ${{ … }} for a value")
        return super().text(place, source)

    def template(self, effect: str, text: str, *more: str) -> str:
        """A text for a model; where it may stand depends on the event."""
        if effect == "block" and self.event not in CAN_BLOCK:
            cure = "; the call has run, use inject_context" * (
                self.event == "on_after_tool"
            )
            self.wrong(effect, f"{self.event} cannot block{cure}")
        if effect == "inject_context" and self.event not in _TAKES_CONTEXT:
            message = f"in {self.event} this would make it go on: write block"
            self.wrong(effect, message)
        if "tool_input" in self.names_in((*self.place, effect, *more), text):
            asked = templates.keys_in(text, "tool_input")
            self._check_input(asked or (), effect, *more)
        return text

    def spawn(self, wanted: Any) -> Json:
        """`spawn_agent`."""
        can_block = self.event == "on_before_tool"
        if wanted.block and not can_block:
            message = f"{self.event} has no call that an agent could take over"
            self.wrong("spawn_agent", message, "block")
        blocks = can_block if wanted.block is None else wanted.block
        model = wanted.model
        if model is not None:
            model = self.template("spawn_agent", model, "model")
            if "{{" not in model and not is_model(model):
                near = did_you_mean(model, MODEL_NAMES)
                self.wrong("spawn_agent", f"no model is named {model!r}{near}", "model")
        return {
            "agent": wanted.agent,
            "prompt": self.template("spawn_agent", wanted.prompt, "prompt"),
            "arguments": wanted.arguments,
            "model": model,
            "block": blocks,
        }
