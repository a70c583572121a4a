"""Register the hooks with Claude Code: by default for you, in this project.

Other hooks and settings stay as they are, to the byte. Installing twice does no harm;
after an upgrade or a move, install again. With --mcp, the model of a session also gets
tools to start agents and to wait for them.

For example:
  hostbridge install --mcp
  hostbridge install --user && hostbridge doctor
"""

import sys
from argparse import Namespace
from difflib import unified_diff
from importlib.util import find_spec
from pathlib import Path

from bridge.cli.common.options import switch
from bridge.cli.common.output import complain, say, tell
from bridge.config import Settings
from bridge.errors import BridgeError, InvalidRequest
from bridge.extras import how_to_add
from bridge.host import mcp_registration
from bridge.host.carrier import CarrierFile
from bridge.host.excludes import Excluded
from bridge.host.hook_table import HOOKS, form_of
from bridge.host.install import (
    Installer,
    Scope,
    SettingsChange,
    find_dropped,
    target_of,
)
from bridge.shipped import hooks_folder
from bridge.store.location import locate

WHOM: dict[Scope, str] = {
    "local": "for you, in this project",
    "user": "for you, in every project",
    "project": "for everyone who works on this project and has hostbridge",
}


OPTIONS = (
    switch("--local", help="For you, in this project (the default)."),
    switch("--user", help="For you, in every project."),
    switch("--project", help="For everyone with hostbridge: a file to commit."),
    switch("--mcp", help="The MCP server, too: tools for the model."),
    switch("--dry-run", help="Show what would change."),
)


def command(options: Namespace) -> None:
    """Install in one scope and say what comes next."""
    kind = _chosen(options)
    settings = Settings.from_environment()
    place = locate(settings, Path())
    here = place.project
    installer = Installer(settings, here)
    hooks = hooks_folder()
    form = form_of(kind, hooks, sys.executable)
    with_mcp = options.mcp or mcp_registration.is_ours(settings, place, kind)
    change = installer.plan_install(
        target_of(kind, settings, here), hooks, sys.executable
    )
    if options.dry_run:
        say(_difference(change) or f"{change.target.file}: nothing would change")
        _report_carrier(CarrierFile(settings), dry_run=True)
        if with_mcp and not mcp_registration.is_current(settings, place, kind, form):
            tell(f"  would register the MCP server, scope {kind}")
        return
    excluded = installer.install(change, hooks, sys.executable)
    _report(change, hooks, here, excluded)
    _report_carrier(CarrierFile(settings))
    if with_mcp:
        mcp_registration.register(settings, place, kind, form)
        _report_mcp(kind)
    _say_what_comes_next()
    if fault := find_dropped(settings, here):
        complain(f"{fault}; none of its hooks runs before that is corrected")


def _chosen(options: Namespace) -> Scope:
    kinds: list[Scope] = [kind for kind in WHOM if getattr(options, kind)]
    if len(kinds) > 1:
        names = " and ".join(f"--{kind}" for kind in kinds)
        raise InvalidRequest(f"{names} exclude each other; run install once for each")
    return kinds[0] if kinds else "local"


def _report(
    change: SettingsChange, hooks: Path, project: Path, excluded: Excluded | None
) -> None:
    kind, file = change.target.kind, change.target.file
    if change.is_needed:
        tell(f"installed {WHOM[kind]}: {len(HOOKS)} hooks in {file}")
        if file.is_symlink():
            tell(f"  (a link; what was changed is {file.resolve()})")
    else:
        tell(f"installed already, {WHOM[kind]}: {file} is as it was")
    tell(f"  they run {hooks} with {sys.executable}")
    if kind != "user" and not (project / ".git").exists():
        tell(f"  no .git is here or above: the project is {project} alone")
    if kind == "local" and (change.is_needed or excluded is not None):
        tell(f"  {_kept_out(project, excluded)}")
    if kind == "project":
        tell("  commit that file; it does nothing on a machine without hostbridge")
        tell("  it counts for sessions that are started in the project's top folder")


def _kept_out(project: Path, excluded: Excluded | None) -> str:
    """What keeps our own settings file out of git."""
    if excluded is not None:
        return f"git ignores that file: {excluded.file} names it"
    if not (project / ".git").exists():
        return "after `git init`, run `hostbridge install` again: git should ignore it"
    # Git could tell whether it does. But git would run what the repository's own
    # configuration names, and that may be a stranger's.
    return "Claude Code keeps that file out of git from the next session on"


def _report_mcp(kind: Scope) -> None:
    tell(f"  registered the MCP server, scope {kind}: new sessions have its tools")
    if kind == "project":
        tell("  commit .mcp.json, too; Claude Code asks everyone before it starts that")
    if find_spec("mcp") is None:
        complain(f"the server needs the extra `mcp`: {how_to_add('mcp')}")


def _difference(change: SettingsChange) -> str:
    """A unified diff; empty when nothing would change."""
    file = str(change.target.file)
    lines = unified_diff(
        (change.before or "").splitlines(),
        (change.after or "").splitlines(),
        "/dev/null" if change.before is None else file,
        "/dev/null" if change.after is None else file,
        lineterm="",
    )
    return "\n".join(lines)


def _report_carrier(carrier: CarrierFile, *, dry_run: bool = False) -> None:
    """Write our own agent, and say so; hooks also work without it."""
    try:
        state = carrier.state() if dry_run else carrier.write()
    except (BridgeError, OSError) as exc:
        complain(f"{exc}; without {carrier.file.name} agents cannot search in sessions")
        return
    if state == "somebody else's":
        complain(
            f"{carrier.file} is not hostbridge's and stays; without that name agents "
            "that only read cannot search in sessions: rename it and install again"
        )
    elif state in (None, "written"):
        verb = "would write" if dry_run else "wrote"
        tell(f"  {verb} {carrier.file}: agents that only read and search run as it")


def _say_what_comes_next() -> None:
    tell(
        "\nOpen sessions load the hooks at their next event. Restart them so that they "
        "wake while idle and their agents can search."
    )
    tell(
        "Next: open `claude` here, and ask it from another terminal:\n\n"
        '    hostbridge ask "Which modules lack tests?"\n\n'
        "If nothing happens: hostbridge doctor"
    )
