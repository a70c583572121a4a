"""The tools that an agent has here: the route's own, as far as it may, and its scripts.

Only the definition decides. No file, no result and no word of a model adds a tool.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bridge.agent_loop.command_grants import Grants, NotGranted
from bridge.agent_loop.command_tool import Ran, run_command
from bridge.agent_loop.file_tools import Reader, reading_tools
from bridge.agent_loop.tool import Tool, ToolResult, clipped, refused
from bridge.agent_loop.workspace import Refused
from bridge.agents.syntax_node import NODE_NAMES, node_scope
from bridge.policy.tool_names import LOCAL_NAMES, SUBMIT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.agent_loop.job import Job
    from bridge.agent_loop.script_tools import Sandbox
    from bridge.agent_loop.workspace import Project
    from bridge.agents.definition import ScriptTool


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What one run may call.

    Attributes:
        tools: by name, `submit_result` not among them.
        check: runs the script of a definition's own `submit_result`; None for none.
    """

    tools: dict[str, Tool]
    check: Callable[[dict[str, Any]], ToolResult] | None


def toolbox_of(job: Job, project: Project, sandbox: Sandbox) -> Toolbox:
    """The tools of the agent that answers `job`."""
    definition = job.definition
    workshop = _Workshop(job, project, sandbox)
    offered = [*reading_tools(workshop.reader)]
    if workshop.grants:
        offered.append(workshop.command_tool())
    wanted = None if definition is None else definition.tools
    blocked = _names(() if definition is None else definition.blocked_tools)
    if wanted is not None:
        offered = [tool for tool in offered if tool.name in _names(wanted)]
    scripts = () if definition is None else definition.script_tools
    check = None
    for script in scripts:
        tool = workshop.script_tool(script)
        if tool.name == SUBMIT:
            check = tool.call
        else:
            # A definition's own tool stands in for the route's of that name.
            offered = [t for t in offered if t.name != tool.name] + [tool]
    return Toolbox({t.name: t for t in offered if t.name not in blocked}, check)


def _names(written: tuple[str, ...]) -> frozenset[str]:
    return frozenset(LOCAL_NAMES.get(name, name) for name in written)


class _Workshop:
    """Makes the tools of one run, over its project, grants and limits."""

    def __init__(self, job: Job, project: Project, sandbox: Sandbox) -> None:
        self.reader = Reader(project)
        allow = job.definition.allow if job.definition else ()
        self.grants = Grants(allow, project.has)
        self._job = job
        self._project = project
        self._sandbox = sandbox

    def command_tool(self) -> Tool:
        return Tool(
            "run_command",
            f"Run a command in the project. Granted: {self.grants.words}.",
            {
                "type": "object",
                "properties": {
                    "command": self.grants.parameters(
                        is_held_to_rules=self._job.policy.is_held_to_rules
                    )
                },
                "required": ["command"],
                "additionalProperties": False,
            },
            self._call_command,
        )

    def script_tool(self, script: ScriptTool) -> Tool:
        def call(arguments: dict[str, Any]) -> ToolResult:
            return self._call_script(script, arguments)

        return Tool(script.name, script.description, script.parameters, call)

    def _call_command(self, arguments: dict[str, Any]) -> ToolResult:
        try:
            ran = self._run(arguments["command"])
        except (NotGranted, Refused, OSError) as exc:
            return refused(exc)
        how = "ended at its time limit" if ran.exit_code is None else None
        head = how or f"exit code {ran.exit_code}"
        return ToolResult(f"{head}\n{ran.output}", ok=ran.ok, ran=(ran,))

    def _run(self, command: str) -> Ran:
        # A script may have many to run, and looks up at none of them.
        self._project.go_on()
        job = self._job
        limit_s = job.clock.monotonic_s() + job.limits.command_s
        return run_command(
            command,
            self.grants.argv(command),
            folder=self._project.root,
            deadline_s=min(limit_s, job.deadline_s),
            # Who asks from within is a child of this request, however deep.
            env={
                "BRIDGE_PARENT": job.request.request_id,
                "BRIDGE_DEPTH": str(job.request.depth),
            },
            is_cancelled=job.is_cancelled,
        )

    def _call_script(self, script: ScriptTool, arguments: dict[str, Any]) -> ToolResult:
        """The context providers in their order, then the tool itself."""
        ran: list[Ran] = []
        parts = []
        files = (*script.context_providers, script.pym)
        codes = (*script.provider_codes, script.code)
        for path, code in zip(files, codes, strict=True):
            given = self._run_script(path, code, script, arguments, ran)
            parts.append(given.text)
            if not given.ok:
                break
        return replace(given, text="\n".join(parts), ran=tuple(ran), is_script=True)

    def _run_script(
        self,
        path: Path,
        code: str,
        script: ScriptTool,
        arguments: dict[str, Any],
        ran: list[Ran],
    ) -> ToolResult:
        def command(command: str) -> dict[str, Any]:
            done = self._run(command)
            ran.append(done)
            output = clipped(done.output, self._job.limits.result_chars)
            return {"exit_code": done.exit_code, "output": output}

        names = dict.fromkeys(script.parameters.get("properties", {}))
        return self._sandbox.run(
            self._as_written(path),
            code,
            {**self._node(), **names, **arguments},
            {
                "read_file": self.reader.read_text,
                "list_files": self.reader.list_files,
                "search_text": self.reader.search_text,
                "run_command": command,
            },
            seconds=self._job.deadline_s - self._job.clock.monotonic_s(),
        )

    def _as_written(self, path: Path) -> str:
        """A script's file as its definition names it: told from its folder."""
        definition = self._job.definition
        folder = definition.source.file.parent if definition else self._project.root
        inside = path.is_relative_to(folder)
        return str(path.relative_to(folder) if inside else path)

    def _node(self) -> dict[str, str | None]:
        node = self._job.request.node
        return dict.fromkeys(NODE_NAMES) if node is None else {**node_scope(node)}
