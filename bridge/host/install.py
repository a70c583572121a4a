"""Register our hooks with Claude Code, and remove them again.

    kind     settings file                          how a hook finds its script
    local    <project>/.claude/settings.local.json  by a path of this machine
    user     ~/.claude/settings.json                the same
    project  <project>/.claude/settings.json        by the pointer of `install_records`

The client reads the local file also when it is started in a folder below the project,
the project's only when started in the project itself. It adds the local file's name to
git's own ignore file by itself. (Measured on 2.1.330.)

The former text of a file is kept: if nobody else has changed the file since, its bytes
are restored.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bridge.config import Settings
from bridge.host import replaced_file, settings_edit
from bridge.host.hook_table import form_of
from bridge.host.install_records import InstallRecord, InstallRecords, sha256
from bridge.host.pins import Pins
from bridge.host.settings_edit import SettingsUnreadable
from bridge.store.location import locate

Scope = Literal["local", "user", "project"]
SCOPES: tuple[Scope, ...] = ("local", "user", "project")


@dataclass(frozen=True, slots=True)
class Target:
    """One settings file that hooks can be registered in."""

    kind: Scope
    file: Path


@dataclass(frozen=True, slots=True)
class Change:
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
        files = [target.file for target in self.targets()]
        return any(
            settings_edit.ours(replaced_file.load(file) or "", str(file))
            for file in files
        )

    def plan_install(self, target: Target, hooks: Path, python: str) -> Change:
        """What an install would change."""
        form = form_of(target.kind, hooks, python)
        name = str(target.file)
        record = self._records.find(target.file)
        with _nothing_changed():
            before = replaced_file.load(target.file)
            found = settings_edit.ours(before or "", name)
            if record is not None and record.wrote(before):
                original = record.original
            else:
                original = before and settings_edit.take_out(before, name)
            if _same(found, settings_edit.wanted(form)):
                return Change(target, before, before, original)
            after = settings_edit.add(original or "", form, name)
        return Change(target, before, after, original)

    def plan_uninstall(self, target: Target) -> Change:
        """What an uninstall would change."""
        record = self._records.find(target.file)
        with _nothing_changed():
            before = replaced_file.load(target.file)
            if before is None:
                return Change(target, None, None, None)
            if record is not None and record.wrote(before):
                return Change(target, before, record.original, record.original)
            after: str | None = settings_edit.take_out(before, str(target.file))
        is_bare = after != before and (after or "").strip() == "{}"
        if is_bare and record is not None and record.original is None:
            after = None
        return Change(target, before, after, after)

    def install(self, change: Change, hooks: Path, python: str) -> None:
        """Carry out the result of `plan_install`."""
        assert change.after is not None  # noqa: S101 - an install leaves a file
        target = change.target
        if target.kind == "project":
            self._records.write_pointer(hooks, python)
        made = self._records.has_made(target.file.parent)
        if change.is_needed:
            made |= replaced_file.store(target.file, change.after, before=change.before)
        self._records.save(
            InstallRecord(
                file=str(target.file),
                kind=target.kind,
                original=change.original,
                after_sha256=sha256(change.after),
                made_folder=made,
            )
        )

    def uninstall(self, change: Change) -> None:
        """Carry out the result of `plan_uninstall`."""
        target = change.target
        record = self._records.find(target.file)
        if change.is_needed:
            replaced_file.store(target.file, change.after, before=change.before)
            if record is not None and record.made_folder:
                replaced_file.remove_folder(target.file)
        self._records.remove(target.file)
        here = locate(self._settings, self._project)
        # The user's hooks act in every project.
        pins = Pins.of(self._settings)
        pins.disown(target.kind, None if target.kind == "user" else here)


@contextmanager
def _nothing_changed() -> Iterator[None]:
    """Say so in an error of the block."""
    try:
        yield
    except SettingsUnreadable as exc:
        raise SettingsUnreadable(f"{exc}; nothing was changed") from None


def _same(found: list[dict[str, object]], wanted: list[dict[str, object]]) -> bool:
    return sorted(map(repr, found)) == sorted(map(repr, wanted))
