"""Register our hooks with Claude Code, and remove them again.

    kind     settings file                          how a hook finds its script
    local    <project>/.claude/settings.local.json  by a path of this machine
    user     ~/.claude/settings.json                the same
    project  <project>/.claude/settings.json        by the pointer of `install_records`

The client reads the local file also when it is started in a folder below the project,
the project's only when started in the project itself. It adds the local file's name to
the user's own ignore file of git, but not before its first session on a terminal, so we
add it to that of the repository (`excludes`). (Measured on 2.1.330.)

The former text of a file is kept: if nobody else has changed the file since, its bytes
are restored.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bridge.config import Settings
from bridge.host import excludes, replaced_file, settings_edit
from bridge.host.excludes import Excluded
from bridge.host.hook_table import form_of
from bridge.host.install_records import InstallRecord, InstallRecords, sha256
from bridge.host.settings_edit import SettingsUnreadable
from bridge.host.settings_faults import find_fault
from bridge.protocol.claim import HostProcess
from bridge.store import sessions
from bridge.store.location import Place, locate
from bridge.store.pins import Pins
from bridge.store.plain_file import read_plain
from bridge.store.store import Store

Scope = Literal["local", "user", "project"]
SCOPES: tuple[Scope, ...] = ("local", "user", "project")


@dataclass(frozen=True, slots=True)
class Target:
    """One settings file that hooks can be registered in."""

    kind: Scope
    file: Path


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """The change of one settings file. None stands for a file that does not exist.

    Attributes:
        target: which file.
        before: its text now.
        after: its text to be.
        original: its text without hostbridge, as far as is known.
    """

    target: Target
    before: str | None
    after: str | None
    original: str | None

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after


def target_of(kind: Scope, settings: Settings, project: Path) -> Target:
    """The settings file of one scope."""
    if kind == "user":
        return Target(kind, settings.claude_dir.absolute() / "settings.json")
    name = "settings.local.json" if kind == "local" else "settings.json"
    return Target(kind, project / ".claude" / name)


def enabled_plugins(settings: Settings, project: Path) -> list[str]:
    """Plugins of ours that settings switch on, each with its settings file."""
    found = []
    for kind in SCOPES:
        file = target_of(kind, settings, project).file
        plugins = content_of(file).get("enabledPlugins")
        for name, is_on in plugins.items() if isinstance(plugins, dict) else ():
            if name.partition("@")[0] == "hostbridge" and is_on:
                found.append(f"plugin {name} ({file})")
    return found


def content_of(file: Path) -> dict[str, Any]:
    """The settings in a file; empty if there are none, or they cannot be read."""
    try:
        content = json.loads(read_plain(file))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def fault_in(file: Path) -> Iterator[str]:
    """Why the client drops a settings file whole, with its name; nothing if not."""
    if (fault := find_fault(content_of(file))) is not None:
        yield f"Claude Code drops the whole of {file}: {fault}"


def find_dropped(settings: Settings, project: Path) -> str | None:
    """Why the client drops a settings file that has our hooks; None if it does not."""
    files = (target_of(kind, settings, project).file for kind in SCOPES)
    for file in files:
        with suppress(SettingsUnreadable):
            if settings_edit.ours(replaced_file.load(file) or "", str(file)):
                for fault in fault_in(file):
                    return fault
    return None


class Installer:
    """Installs and uninstalls for one user and one project.

    Raises:
        StateRefused: our own folder is not safe to use (any method).
        SettingsUnreadable: a settings file cannot be understood or written; nothing was
            changed (any method).
    """

    def __init__(self, settings: Settings, project: Path) -> None:
        self._settings = settings
        self._project = project
        self._records = InstallRecords(settings.home)

    def targets(self) -> list[Target]:
        """Every settings file that hooks can be registered in."""
        return [target_of(kind, self._settings, self._project) for kind in SCOPES]

    def is_installed(self) -> bool:
        """Whether any of these files registers our hooks."""
        return bool(self.scopes())

    def scopes(self) -> list[Scope]:
        """Those of these files that register our hooks, by their kind."""
        return [
            kind
            for kind, file in ((target.kind, target.file) for target in self.targets())
            if settings_edit.ours(replaced_file.load(file) or "", str(file))
        ]

    def plan_install(self, target: Target, hooks: Path, python: str) -> SettingsChange:
        """What an install would change."""
        form = form_of(target.kind, hooks, python)
        name = str(target.file)
        record = self._records.find(target.file)
        with _nothing_changed():
            self._refuse_outside(target)
            before = replaced_file.load(target.file)
            found = settings_edit.ours(before or "", name)
            if record is not None and record.wrote(before):
                original = record.original
            else:
                original = before and settings_edit.take_out(before, name)
            if _same(found, settings_edit.wanted(form)):
                return SettingsChange(target, before, before, original)
            after = settings_edit.add(original or "", form, name)
        return SettingsChange(target, before, after, original)

    def _refuse_outside(self, target: Target) -> None:
        """Refuse a project's file that is a link out of it.

        The user's own may be kept elsewhere; a project may be somebody else's.
        """
        real, project = target.file.resolve(), self._project.resolve()
        if target.kind != "user" and not real.is_relative_to(project):
            raise SettingsUnreadable(
                f"{target.file} leads to {real}, which is not in the project; put a "
                "file in place of the link"
            )

    def plan_uninstall(self, target: Target) -> SettingsChange:
        """What an uninstall would change."""
        record = self._records.find(target.file)
        with _nothing_changed():
            before = replaced_file.load(target.file)
            if before is None:
                return SettingsChange(target, None, None, None)
            if record is not None and record.wrote(before):
                return SettingsChange(target, before, record.original, record.original)
            after: str | None = settings_edit.take_out(before, str(target.file))
            if after != before:
                self._refuse_outside(target)
        is_bare = after != before and (after or "").strip() == "{}"
        if is_bare and record is not None and record.original is None:
            after = None
        return SettingsChange(target, before, after, after)

    def install(
        self, change: SettingsChange, hooks: Path, python: str
    ) -> Excluded | None:
        """Carry out the result of `plan_install`.

        Returns what has git ignore our own file, if that was our doing.
        """
        assert change.after is not None  # noqa: S101 - an install leaves a file
        target = change.target
        if target.kind == "project":
            self._records.write_pointer(hooks, python)
        made = self._records.has_made(target.file.parent)
        if change.is_needed:
            made |= replaced_file.store(target.file, change.after, before=change.before)
        excluded = self._excluded(target)
        self._records.save(
            InstallRecord(
                file=str(target.file),
                kind=target.kind,
                original=change.original,
                after_sha256=sha256(change.after),
                made_folder=made,
                exclude_file=str(excluded.file) if excluded else None,
                excluded=excluded.text if excluded else None,
                made_exclude=excluded is not None and excluded.is_made,
            )
        )
        return excluded

    def _excluded(self, target: Target) -> Excluded | None:
        """What has git ignore our own file, from now or from an earlier install."""
        record = self._records.find(target.file)
        if record is not None and (known := _excluded_by(record)) is not None:
            return known
        if target.kind != "local":
            return None
        # Hooks work without it, and `validate` looks at one file more.
        with suppress(SettingsUnreadable):
            name = target.file.relative_to(self._project).as_posix()
            return excludes.exclude(self._project, name)
        return None

    def uninstall(self, change: SettingsChange) -> list[str]:
        """Carry out the result of `plan_uninstall`.

        Returns the sessions that are open and have no hooks of ours any more.
        """
        target = change.target
        record = self._records.find(target.file)
        if change.is_needed:
            replaced_file.store(target.file, change.after, before=change.before)
            if record is not None and record.made_folder:
                replaced_file.remove_folder(target.file)
        if record is not None and (excluded := _excluded_by(record)) is not None:
            excludes.take_back(excluded)
        self._records.remove(target.file)
        here = locate(self._settings, self._project)
        # The user's hooks act in every project.
        pins = Pins.of(self._settings)
        place = None if target.kind == "user" else here
        pins.disown(target.kind, place)
        unserved = [*pins.unserved(place)]
        return [
            session_id
            for session_id, host, where in unserved
            if not self._reaches(where.project)
            and self._retire(session_id, host, where)
        ]

    def _reaches(self, project: Path) -> bool:
        """Whether any other install reaches the sessions of a project."""
        try:
            scopes = Installer(self._settings, project).scopes()
        except SettingsUnreadable:
            return True
        return bool(scopes or enabled_plugins(self._settings, project))

    def _retire(self, session_id: str, host: HostProcess, place: Place) -> bool:
        """Take back what an open session holds; False if it is not on record."""
        # Most who ask about installs retire nobody, and these imports are slow.
        from bridge.host import registration, unseen_ends
        from bridge.host.context import HookContext
        from bridge.host.events import HookEvent

        store = Store(place)
        if not store.exists():
            return False
        with store.open() as opened:
            session = sessions.find_session(opened, session_id, host)
            if session is None:
                return False
            known = {
                "hook_event_name": "SessionEnd",
                "session_id": session_id,
                "transcript_path": session.transcript_path,
                "cwd": session.cwd,
            }
            hook = HookContext(self._settings, opened, HookEvent(known), session, [])
            unseen_ends.release_all(hook)
            registration.strike_off(opened, session)
        return True


def _excluded_by(record: InstallRecord) -> Excluded | None:
    if record.exclude_file is None or record.excluded is None:
        return None
    return Excluded(Path(record.exclude_file), record.excluded, record.made_exclude)


@contextmanager
def _nothing_changed() -> Iterator[None]:
    """Say so in an error of the block."""
    try:
        yield
    except SettingsUnreadable as exc:
        raise SettingsUnreadable(f"{exc}; nothing was changed") from None


def _same(found: list[dict[str, object]], wanted: list[dict[str, object]]) -> bool:
    return sorted(map(repr, found)) == sorted(map(repr, wanted))
