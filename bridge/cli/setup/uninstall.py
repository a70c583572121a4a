"""Remove the hooks from Claude Code's settings: everywhere, unless you say where.

Without an option this removes the hooks for you in this project, for you in every
project, and for everyone in this project. A file that nobody has changed since the
install gets its old bytes back; from any other only our hooks are removed. Our MCP
server goes, too. Requests and answers stay. Refused inside a Claude Code session:
rules end with the hooks, and its model must not end what binds it.

For example:
  hostbridge uninstall
  hostbridge uninstall --user
"""

from argparse import Namespace
from collections import Counter
from pathlib import Path

from bridge.bound.session_above import only_outside_sessions
from bridge.cli.common.options import switch
from bridge.cli.common.output import complain, say, tell
from bridge.config import Settings
from bridge.errors import BridgeError
from bridge.host import mcp_registration, settings_edit
from bridge.host.carrier import CarrierFile
from bridge.host.install import Installer, Scope, SettingsChange, enabled_plugins
from bridge.store.location import Place, locate
from bridge.store.store import Store

_SCOPES: tuple[Scope, ...] = ("local", "user", "project")
OPTIONS = (
    *(
        switch(f"--{s}", help=f"Undo `install --{s}`, and nothing else.")
        for s in _SCOPES
    ),
    switch("--dry-run", help="Show what would change."),
)


def command(options: Namespace) -> int:
    """Uninstall and say what was changed."""
    scopes = [s for s in _SCOPES if getattr(options, s)] or list(_SCOPES)
    settings = Settings.from_environment()
    place = locate(settings, Path())
    installer = Installer(settings, place.project)
    if not options.dry_run:
        only_outside_sessions(settings, Store(place), "hostbridge uninstall")
    done, failed = 0, 0
    for target in installer.targets():
        if target.kind not in scopes:
            continue
        try:
            change = installer.plan_uninstall(target)
            if options.dry_run:
                say(_forecast(change))
                if mcp_registration.is_ours(settings, place, target.kind):
                    say(f"would remove the MCP server, scope {target.kind}")
            else:
                done += _uninstall(installer, change, settings, place)
        except BridgeError as exc:
            # If one file cannot be changed, the others still can.
            complain(str(exc))
            failed += 1
    if options.dry_run:
        return 1 if failed else 0
    failed += _remove_carrier(settings)
    if not (done or failed):
        kinds = ", ".join(f"--{kind}" for kind in scopes)
        where = f"({kinds}) in the settings for {place.project}"
        tell(f"hostbridge is not installed: no hooks of it {where}")
        for plugin in enabled_plugins(settings, place.project):
            tell(f"{plugin} is on; `claude plugin uninstall` removes it")
    return 1 if failed else 0


def _uninstall(
    installer: Installer, change: SettingsChange, settings: Settings, place: Place
) -> int:
    """Take out what one file and its scope have; returns how much that was."""
    done = 0
    retired = installer.uninstall(change)
    if mcp_registration.unregister(settings, place, change.target.kind):
        tell(f"removed the MCP server, scope {change.target.kind}")
        done = 1
    return done + _report(change) + _report_retired(retired)


def _remove_carrier(settings: Settings) -> int:
    """Remove our own agent with the last install; returns the number of failures."""
    carrier = CarrierFile(settings)
    try:
        if carrier.remove():
            tell(f"removed {carrier.file}")
    except BridgeError as exc:
        complain(str(exc))
        return 1
    return 0


def _forecast(change: SettingsChange) -> str:
    """What an uninstall would do to one file: how many hooks go, of which events."""
    file = change.target.file
    if not change.is_needed:
        return f"{file}: nothing would change"
    counts = Counter(
        h["event"] for h in settings_edit.ours(change.before or "", str(file))
    )
    events = ", ".join(
        f"{event} {n}" if n > 1 else event for event, n in counts.items()
    )
    what = f"would take {counts.total()} hooks out of {file}"
    if change.after is None:
        what = (
            f"would remove {file}, which holds {counts.total()} hooks and nothing else"
        )
    return f"{what}: {events}"


def _report(change: SettingsChange) -> bool:
    file = change.target.file
    if not change.is_needed:
        return False
    if change.after is None:
        tell(f"removed {file}: it held nothing else")
    else:
        tell(f"took the hooks out of {file}; the rest is as it was")
    if change.target.kind == "project":
        tell("  others who work on the project have them until that is committed")
    return True


def _report_retired(session_ids: list[str]) -> int:
    for session_id in session_ids:
        tell(f"session {session_id} is open, and takes no more requests")
    return len(session_ids)
