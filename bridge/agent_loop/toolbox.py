"""The tools of an agent: those of the route that it is allowed, and its own scripts.

Only the definition decides: no file, no result and no reply of a model adds a tool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

from bridge.agent_loop.command_tool import Ran, run_command
from bridge.agent_loop.file_edits import Editor, editing_tools
from bridge.agent_loop.file_tools import FileReader, reading_tools
from bridge.agent_loop.script_tools import Sandbox
from bridge.agent_loop.tool import Tool, ToolResult, clipped, object_schema
from bridge.agent_loop.workspace import Project
from bridge.agents.prompt import NODE_NAMES, node_scope
from bridge.policy.command_grants import Grants, NotGranted
from bridge.policy.tool_lists import permits
from bridge.policy.tool_names import HOST_NAMES, SUBMIT, on_host
from bridge.protocol.trace_context import variables_of

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.agent_loop.job import Job
    from bridge.agents.definition import ScriptTool


class Toolbox:
    """What one run may call.

    Attributes:
        tools: by name, without `submit_result`.
        check: runs the script of a definition's own `submit_result`, if it has one.
    """

    def __init__(self, job: Job, project: Project, sandbox: Sandbox) -> None:
        definition = job.definition
        self._job = job
        self._project = project
        self._sandbox = sandbox
        self._reader = FileReader(project)
        self._grants = Grants(definition.allow, project.has)
        tools = {tool.name: tool for tool in reading_tools(self._reader)}
        editor = Editor(project, definition.allow)
        tools |= {tool.name: tool for tool in editing_tools(editor)}
        if self._grants:
            tools["run_command"] = self._command_tool()
        if definition.tools is not None:
            allowed = on_host(definition.tools)
            tools = {name: tools[name] for name in tools if _may(name, allowed)}
        tools |= {tool.name: tool for tool in job.own_tools}
        for script in definition.script_tools:
            # It replaces the route's tool of that name, and is listed after the others.
            tools.pop(script.name, None)
            run = partial(self._call_script, script)
            tools[script.name] = Tool(
                script.name, script.description, script.parameters, run
            )
        submit = tools.pop(SUBMIT, None)
        self.check = None if submit is None else submit.call
        blocked = on_host(definition.blocked_tools)
        self.tools = {name: tools[name] for name in tools if _may(name, None, blocked)}

    def is_script(self, name: str) -> bool:
        """Whether a tool is a script: what that looks at it calls functions for."""
        return any(script.name == name for script in self._job.definition.script_tools)

    def _command_tool(self) -> Tool:
        is_held = self._job.policy.is_held_to_rules
        command = self._grants.parameters(is_held_to_rules=is_held)
        return Tool(
            "run_command",
            f"Run a command in the project. Granted: {self._grants.words}.",
            object_schema({"command": command}, "command"),
            self._call_command,
        )

    def _call_command(self, arguments: dict[str, Any]) -> ToolResult:
        ran = self._run(arguments["command"])
        return ToolResult(f"{ran.ended}\n{ran.output}", ok=ran.ok, ran=(ran,))

    def _run(self, command: str) -> Ran:
        # A script may run many commands, and catch what each of them raises.
        self._project.go_on()
        job = self._job
        limit_s = job.clock.monotonic_s() + job.limits.command_s
        return run_command(
            command,
            self._grants.argv(command),
            folder=self._project.root,
            deadline_s=min(limit_s, job.deadline_s),
            # A request that the command makes is a child of this one.
            env={
                "BRIDGE_PARENT": job.request.request_id,
                "BRIDGE_DEPTH": str(job.request.depth),
                **variables_of(job.request.traceparent, job.request.request_id),
            },
            is_cancelled=job.is_cancelled,
        )

    def _call_script(self, script: ScriptTool, arguments: dict[str, Any]) -> ToolResult:
        """Run the context providers in their order, then the tool itself."""
        ran: list[Ran] = []
        texts = []
        files = (*script.context_providers, script.pym)
        codes = (*script.provider_codes, script.code)
        for path, code in zip(files, codes, strict=True):
            result = self._run_script(path, code, script, arguments, ran)
            texts.append(result.text)
            if not result.ok:
                break
        return replace(result, text="\n".join(texts), ran=tuple(ran), is_script=True)

    def _run_script(
        self,
        path: Path,
        code: str,
        script: ScriptTool,
        arguments: dict[str, Any],
        ran: list[Ran],
    ) -> ToolResult:
        job = self._job

        def run_command(command: str) -> dict[str, Any]:
            done = self._run(command)
            ran.append(done)
            output = clipped(done.output, job.limits.result_chars)
            return {"exit_code": done.exit_code, "output": output}

        node = job.request.node
        names = dict.fromkeys((*NODE_NAMES, *script.parameters.get("properties", {})))
        return self._sandbox.run(
            self._shown(path),
            code,
            {**names, **(node_scope(node) if node else {}), **arguments},
            {
                "read_file": self._ruled("read_file", self._reader.read_text),
                "list_files": self._ruled("list_files", self._reader.list_files),
                "search_text": self._ruled("search_text", self._reader.search_text),
                "run_command": self._ruled("run_command", run_command),
            },
            seconds=job.deadline_s - job.clock.monotonic_s(),
        )

    def _ruled(self, tool: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function for a script; rules are asked before each call."""
        parameters = signature(function)

        def ruled(*given: Any, **named: Any) -> Any:
            arguments = parameters.bind(*given, **named).arguments
            asked = self._job.on_host(tool, arguments)
            ruling = self._job.ask_rules("PreToolUse", **asked)
            if ruling.block is not None:
                raise NotGranted(ruling.block)
            self._job.note_look(asked["tool_name"], asked["tool_input"])
            return function(*given, **named)

        return ruled

    def _shown(self, path: Path) -> str:
        """The path of a script as its definition names it: relative to its folder."""
        folder = self._job.definition.source.file.parent
        inside = path.is_relative_to(folder)
        return str(path.relative_to(folder) if inside else path)


def _may(
    name: str, tools: tuple[str, ...] | None, blocked: tuple[str, ...] = ()
) -> bool:
    return permits(tools, blocked, HOST_NAMES.get(name, name))
