"""What a step does about the results of tools: `on_tool`, and as public files say it.

    on_tool:
      Bash: {set_variable: {passed: "tool_output.exit_code == 0"}}
      mcp__*__validate_task:
        - set_variable: {validation_passed: tool_output.is_valid}
    on_mcp_success:
      - {server: x-tasks, tool: claim_task,
         action: set_variable, variable: claimed, value: true}

Values in `on_tool` are expressions. An entry counts for calls that did not fail, unless
it says `ok: false`, or `ok: any`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.diagnostic import Place, describe
from bridge.hints import did_you_mean
from bridge.policy import tool_names
from bridge.policy.step_workflow import OWN_SERVER
from bridge.workflows.actions import KINDS, StepPart
from bridge.workflows.tool_lists import near_tool, own_tools, server_tool

if TYPE_CHECKING:
    from bridge.policy.step_record import Action, Handler
    from bridge.workflows.fields import StepFields

_OWN = ("when", "ok", "do")


class HandlerReader(StepPart):
    """Reads what one step does about results."""

    def read(self, fields: StepFields) -> list[Handler]:
        """The compiled entries, in the file's order."""
        self.actions.is_of_tools = True
        found = self._on_tool(fields.on_tool)
        for key, ok in (("on_mcp_success", True), ("on_mcp_error", False)):
            for number, value in enumerate(getattr(fields, key)):
                place = (*self.place, key, number)
                entry = self._of_server(place, value, ok=ok)
                found += [entry] if entry is not None else []
        self.actions.is_of_tools = False
        return found

    def _on_tool(self, value: Any) -> list[Handler]:
        place = (*self.place, "on_tool")
        if value is None:
            return []
        if not isinstance(value, dict):
            what = f"expected actions by tool, got {describe(value)}"
            self.tree.error(place, what)
            return []
        found = []
        for tool, entries in value.items():
            listed = entries if isinstance(entries, list) else [entries]
            for number, entry in enumerate(listed):
                at = (*place, tool, *([number] if isinstance(entries, list) else []))
                code = self._entry(at, tool, entry)
                found += [code] if code is not None else []
        return found

    def _entry(self, place: Place, tool: str, entry: Any) -> Handler | None:
        if not isinstance(entry, dict):
            self.tree.error(place, f"expected actions, got {describe(entry)}")
            return None
        tools, mcp = self._about(place, tool)
        at = self.actions.at(place)
        code: Handler = {"tools": tools, "mcp": mcp, "at": at, "ok": True, "do": []}
        if "action" in entry:
            code["do"] = self.actions.read(place, [entry])
            return code
        if "ok" in entry:
            code["ok"] = self._outcome((*place, "ok"), entry["ok"])
        if "when" in entry:
            code["when"] = self.expressions.condition((*place, "when"), entry["when"])
        named = [name for name in entry if name not in _OWN]
        for name in named:
            code["do"] += self._do(place, name, entry[name])
        if "do" in entry:
            code["do"] += self.actions.read((*place, "do"), entry["do"])
        return code

    def _outcome(self, place: Place, said: Any) -> bool | None:
        """Whether the call is to have been right, or wrong; None for either."""
        if isinstance(said, bool):
            return said
        if said != "any":
            self.tree.error(place, f"expected true, false or any, got {describe(said)}")
        return None

    def _do(self, place: Place, name: str, fields: Any) -> list[Action]:
        if name == "set_variable":
            at, compiled = (*place, name), self.expressions.expression
            code = self.actions.set_in(at, fields, compiled)
            if code is None:
                return []
            values = code["values"]
            return [{"do": "set_variable", "values": values, "at": self.actions.at(at)}]
        if name not in KINDS:
            hint = did_you_mean(name, (*KINDS, *_OWN))
            self.tree.error((*place, name), f"unknown action {name!r}{hint}")
            return []
        action = self.actions.one(place, {name: fields})
        return [] if action is None else [action]

    def _about(self, place: Place, tool: str) -> tuple[list[str], list[str]]:
        """The tools that an entry is about, and those of MCP (ours by bare names)."""
        if tool in own_tools():
            return [], [f"{OWN_SERVER}:{tool}"]
        if ":" in tool or tool.startswith("mcp__"):
            # `mcp__*__name` may be any server's, ours with its two names too.
            mapped = None if "*" in tool else server_tool(self.tree, place, tool)
            mcp = [mapped] if mapped is not None else []
            return [] if mcp else [tool], mcp
        if not tool_names.is_known(tool) and "*" not in tool:
            known = tool_names.KNOWN | own_tools()
            hint = did_you_mean(tool, known)
            message = f"there is no tool {tool!r}{hint}"
            (self.tree.error if hint else self.tree.warn)(place, message)
        return list(tool_names.on_host((tool,))), []

    def _of_server(self, place: Place, value: Any, *, ok: bool) -> Handler | None:
        """An entry of `on_mcp_success` or `on_mcp_error`."""
        if not isinstance(value, dict):
            self.tree.error(place, f"expected an action, got {describe(value)}")
            return None
        rest = {k: v for k, v in value.items() if k not in ("server", "tool", "when")}
        action = self.actions.one(place, rest)
        server, tool = value.get("server"), value.get("tool")
        for key, given in (("server", server), ("tool", tool)):
            if not isinstance(given, str) or not given:
                self.tree.error(place, f"has no {key}")
                return None
        name = server
        if tool_names.is_own_server(str(server)):
            name, tool = OWN_SERVER, tool_names.OURS.get(str(tool), str(tool))
            if tool not in own_tools():
                hint = near_tool(tool)
                why = f"this never happens: hostbridge has no tool {tool!r}{hint}"
                self.tree.error((*place, "tool"), why)
        if action is None:
            return None
        code: Handler = {
            "tools": [], "mcp": [f"{name}:{tool}"], "at": self.actions.at(place),
            "ok": ok, "do": [action],
        }  # fmt: skip
        if "when" in value:
            code["when"] = self.expressions.condition((*place, "when"), value["when"])
        return code
