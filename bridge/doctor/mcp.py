"""The MCP server: is it registered, and does it start and list its tools?"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from bridge.doctor.finding import Finding, ok, problem, warning
from bridge.doctor.subject import Subject
from bridge.extras import how_to_add
from bridge.host import mcp_registration
from bridge.host.hook_table import Form, form_of, kind_of
from bridge.host.install import SCOPES, enabled_plugins
from bridge.shipped import hooks_folder

# Its imports take a second or two, on a busy machine more.
_TIMEOUT_S = 60
_PROTOCOL = "2025-11-25"


def server(subject: Subject) -> Iterator[Finding]:
    """Whether sessions here get our tools."""
    if subject.place is None:
        return
    settings, place = subject.settings, subject.place
    name = mcp_registration.NAME
    known = {each: mcp_registration.find(settings, place, each) for each in SCOPES}
    found = [each for each in SCOPES if kind_of(known[each])]
    for scope, registered in known.items():
        if registered is not None and scope not in found:
            yield warning(
                f"--{scope}: another server has our name",
                "a session takes its tools for ours, and asks you about them so",
                f"look: claude mcp get {name}; if it is not yours: claude mcp remove "
                f"--scope {scope} {name}",
            )
    for plugin in enabled_plugins(settings, subject.project):
        yield ok(f"the {plugin} brings the server")
    for scope in found:
        again = f"hostbridge install --{scope} --mcp"
        form = form_of(scope, hooks_folder(), sys.executable)
        if not mcp_registration.is_current(settings, place, scope, form):
            yield warning(
                f"--{scope}: not registered as this hostbridge would do it",
                "another version or installation did, or an edit",
                again,
            )
        elif find_spec("mcp") is None:
            yield problem(
                f"--{scope}: the package mcp is missing",
                "the server cannot start, and sessions show it as failed",
                how_to_add("mcp"),
            )
        else:
            yield _try(subject, scope, form, again)


def _try(subject: Subject, scope: str, form: Form, again: str) -> Finding:
    entry = mcp_registration.entry(form)
    argv = [entry["command"], *entry["args"]]
    tools = tools_of(argv, subject.project, subject.env)
    if tools:
        return ok(f"--{scope}: it starts, and has {', '.join(tools)}")
    return problem(
        f"--{scope}: it does not start, or lists no tools",
        "sessions show it as failed",
        f"{again}; `hostbridge mcp </dev/null` shows what is wrong",
    )


def tools_of(argv: list[str], cwd: Path, env: Mapping[str, str]) -> list[str]:
    """The tools that a server lists, asked as a client asks; none if it fails."""
    about = {"protocolVersion": _PROTOCOL, "capabilities": {}}
    about["clientInfo"] = {"name": "hostbridge doctor", "version": "1"}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in messages]
    with (
        suppress(OSError),
        subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # A server that has ended must not make closing its stdin fail.
            bufsize=0,
        ) as process,
    ):
        assert process.stdin is not None  # noqa: S101 - asked for above
        assert process.stdout is not None  # noqa: S101
        timer = threading.Timer(_TIMEOUT_S, process.kill)
        timer.start()
        try:
            process.stdin.write("".join(lines).encode())
            for line in process.stdout:
                said = json.loads(line)
                if said.get("id") == 2:  # noqa: PLR2004 - that of tools/list
                    return [tool["name"] for tool in said["result"]["tools"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        finally:
            timer.cancel()
            process.kill()
    return []
