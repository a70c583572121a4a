"""Are our hooks registered, once and completely, and may they run?

Source of what keeps hooks from running: measured and read in Claude Code 2.1.330; the
managed settings are those of /etc/claude-code (Linux) and /Library/Application
Support/ClaudeCode (macOS).
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from bridge.doctor.finding import Finding, ok, problem, warning
from bridge.doctor.subject import Subject
from bridge.errors import BridgeError
from bridge.host import replaced_file, settings_edit
from bridge.host.hook_table import BESIDE, POINTER, form_of
from bridge.host.install import (
    SCOPES,
    Target,
    content_of,
    enabled_plugins,
    fault_in,
    target_of,
)
from bridge.host.install_records import InstallRecords
from bridge.shipped import hooks_folder
from bridge.store.pins import Pins

INSTALL = "hostbridge install"
# The first counts in any settings, the others only in an administrator's.
_KEYS = ("disableAllHooks", "allowManagedHooksOnly", "strictPluginOnlyCustomization")
# Variables that make the client start without hooks.
_MODES = ("CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SIMPLE")
_TRUE = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class Registered:
    """Our hooks in one settings file."""

    target: Target
    hooks: list[dict[str, Any]]

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Event and argv of each."""
        for hook in self.hooks:
            command = hook["command"]
            yield hook["event"], [command.get("command", ""), *command["args"]]


def all_registered(subject: Subject) -> list[Registered]:
    """Where our hooks are registered; files that cannot be read are left out."""
    found = []
    for kind in SCOPES:
        target = target_of(kind, subject.settings, subject.project)
        try:
            text = replaced_file.load(target.file) or ""
            hooks = settings_edit.ours(text, str(target.file))
        except BridgeError:
            continue
        if hooks:
            found.append(Registered(target, hooks))
    return found


def _of_sessions(subject: Subject) -> list[str]:
    """The plugin as open sessions were told of it: no settings name that."""
    folders = dict.fromkeys(
        folder
        for session in subject.live_sessions()
        for folder in _plugin_folders(session.host.pid)
        if os.path.samefile(folder, hooks_folder().parent)
    )
    if folders:
        return [f"plugin, by --plugin-dir ({folder})" for folder in folders]
    store = subject.store()
    acts = store and Pins(store.place.guard).acts("plugin", store.place)
    return ["plugin, by --plugin-dir"] if acts else []


def _plugin_folders(pid: int) -> Iterator[str]:
    """The folders that a client was started with as plugins, where that can be seen."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
        cwd = os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return
    for word, following in pairwise(words):
        option, _, value = word.partition("=")
        folder = os.path.join(cwd, value or following)
        if option == "--plugin-dir" and os.path.isdir(folder):
            yield folder


def registered(subject: Subject) -> Iterator[Finding]:
    """Whether the hooks are registered exactly once over all scopes."""
    places = all_registered(subject)
    named = [f"--{p.target.kind} ({p.target.file})" for p in places]
    named += enabled_plugins(subject.settings, subject.project) or _of_sessions(subject)
    if not named:
        yield problem(
            f"not registered for {subject.project}",
            "without hooks no session sees a request",
            INSTALL,
        )
        return
    yield from _each(subject, places)
    if len(named) > 1:
        yield warning(
            f"registered {len(named)} times: {'; '.join(named)}",
            "each tool call starts all of them, though only one acts",
            _keep_one(places),
        )
    else:
        yield ok(f"registered once: {named[0]}")


def _keep_one(places: list[Registered]) -> str:
    """How to remove a registration, so that another is left."""
    if not places:
        return (
            "keep one registration: `claude plugin uninstall`, or start without "
            "--plugin-dir"
        )
    return f"remove one registration: hostbridge uninstall --{places[-1].target.kind}"


def _each(subject: Subject, places: list[Registered]) -> Iterator[Finding]:
    """What is wrong with each registration."""
    for place in places:
        file, kind = place.target.file, place.target.kind
        again = f"{INSTALL} --{kind}"
        if missing := sorted(set(_missing(subject, place))):
            yield problem(
                f"{file} names missing files: {', '.join(missing)}",
                "hostbridge was moved or removed; its hooks do nothing",
                f"{again}, or hostbridge uninstall --{kind}",
            )
        elif not _is_current(place):
            yield warning(
                f"{file} holds {len(place.hooks)} hooks, not as this hostbridge would "
                "register them",
                "another version or installation registered them, or an edit did",
                again,
            )


def _missing(subject: Subject, place: Registered) -> Iterator[str]:
    """Paths that a registration needs and that are not there."""
    if place.target.kind == "project":
        pointer = subject.settings.home / POINTER
        if not pointer.is_file():
            yield str(pointer)
        return
    for _, argv in place.commands():
        if argv[1:3] != ["-c", BESIDE]:
            continue
        # Behind the interpreter stands the class of tools.
        script, _, _, *python = argv[3:7]
        paths = filter(None, (script, *python))
        yield from (path for path in paths if not os.path.exists(path))


def _is_current(place: Registered) -> bool:
    """Whether it is what this installation would register.

    Our interpreter may be registered under any of its names: python, python3, ...
    """
    folder = os.path.dirname(sys.executable)
    named = (path for _, argv in place.commands() for path in argv[6:7])
    python = next((p for p in named if os.path.dirname(p) == folder), sys.executable)
    expected = settings_edit.wanted(form_of(place.target.kind, hooks_folder(), python))
    return sorted(map(repr, place.hooks)) == sorted(map(repr, expected))


def is_the_users(subject: Subject, place: Registered) -> bool:
    """Whether these commands are known to be the user's: a clone brings settings, too.

    They are in the user's own file, as this installation writes them, or as another
    one of the user's left them.
    """
    if place.target.kind == "user" or _is_current(place):
        return True
    file = place.target.file
    with suppress(BridgeError):
        record = InstallRecords(subject.settings.home).find(file)
        return record is not None and record.wrote(replaced_file.load(file))
    return False


def allowed(subject: Subject) -> Iterator[Finding]:
    """Whether anything keeps hooks from running."""
    findings = [*_unreadable(subject), *_policies(subject), *_set_here(subject)]
    findings += [
        _stopped(f"{name} is set", f"unset {name}") for name in _modes(subject.env)
    ]
    yield from findings or [ok("no setting or policy keeps hooks from running")]


def _unreadable(subject: Subject) -> Iterator[Finding]:
    for file in _settings_files(subject):
        try:
            settings_edit.ours(replaced_file.load(file) or "", str(file))
        except BridgeError as exc:
            cause = "Claude Code ignores settings that it cannot read"
            yield problem(str(exc), cause, f"correct {file}, then: {INSTALL}")
        for fault in fault_in(file):
            cause = "its hooks do not run, and its permissions do not count"
            yield problem(fault, cause, f"correct that in {file}")


def _policies(subject: Subject) -> Iterator[Finding]:
    managed = [
        subject.managed / "managed-settings.json",
        *sorted((subject.managed / "managed-settings.d").glob("*.json")),
    ]
    for file in (*managed, *_settings_files(subject)):
        content = content_of(file)
        for key in _KEYS if file in managed else _KEYS[:1]:
            value = content.get(key)
            if value is True or (isinstance(value, list) and "hooks" in value):
                yield _stopped(f"{file} sets {key}", _removal(file, key, managed))
        for name in _modes(content.get("env")):
            yield _stopped(f"{file} sets {name} in env", _removal(file, name, managed))


def _set_here(subject: Subject) -> Iterator[Finding]:
    """Settings of ours in files of the project: a clone may bring them."""
    for kind in SCOPES:
        file = target_of(kind, subject.settings, subject.project).file
        env = content_of(file).get("env")
        names = env if isinstance(env, Mapping) and kind != "user" else ()
        if ours := [name for name in names if name.startswith("BRIDGE_")]:
            yield warning(
                f"{file} sets {', '.join(ours)} in env",
                "sessions here obey that, and commands in your shell do not",
                f"if it is not yours, remove it from {file}",
            )


def _removal(file: Path, name: str, managed: list[Path]) -> str:
    if file in managed:
        return f"ask your administrator to take {name} out of {file}"
    return f"remove {name} from {file}"


def _modes(variables: object) -> list[str]:
    """The variables among these that switch hooks off."""
    env = variables if isinstance(variables, Mapping) else {}
    return [name for name in _MODES if str(env.get(name)).lower() in _TRUE]


def _stopped(found: str, cure: str) -> Finding:
    return problem(found, "with it, Claude Code does not run hooks like these", cure)


def _settings_files(subject: Subject) -> list[Path]:
    """The settings files that an install may write to."""
    settings, project = subject.settings, subject.project
    return [target_of(kind, settings, project).file for kind in SCOPES]
