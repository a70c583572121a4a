"""Python, the libraries, the settings in the environment, the off switch."""

import platform
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version

from bridge.config import TABLE, VARIABLES
from bridge.doctor.finding import Finding, ok, problem, warning
from bridge.doctor.subject import Subject
from bridge.protocol.wording import in_shell
from bridge.setting import without_passwords
from bridge.store.config_file import files_of, read_file
from bridge.store.switch import is_off

LIBRARIES = ("pydantic", "orjson", "jsonschema-rs")


def python(_subject: Subject) -> Iterator[Finding]:
    """Which interpreter runs this, with which libraries."""
    known, missing = [], []
    for name in ("hostbridge", *LIBRARIES):
        try:
            known.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    found = f"{sys.executable} ({platform.python_version()}); {', '.join(known)}"
    if missing:
        found += f"; missing: {', '.join(missing)}"
        cause = "the installation is incomplete"
        yield problem(found, cause, "install hostbridge again")
    else:
        yield ok(found)


def variables(subject: Subject) -> Iterator[Finding]:
    """Whether every `BRIDGE_*` variable is known and valid."""
    known = [name for name in VARIABLES if name.startswith("BRIDGE_")]
    ours = sorted(name for name in subject.env if name.startswith("BRIDGE_"))
    if subject.complaint:
        # It begins with the variable's name.
        name = subject.complaint.partition("=")[0]
        yield problem(
            subject.complaint,
            "no command and no hook works with an invalid setting",
            f"correct {name}, or unset it",
        )
    else:
        values = [f"{n}={_shown(n, subject.env[n])}" for n in ours if n in known]
        none = "" if ours else "; no BRIDGE_* variable is set"
        yield ok(", ".join(values) or f"the defaults{none}")
    for name in ours:
        near = get_close_matches(name, known, n=1, cutoff=0.85)
        if name not in known and near:
            found = f"{name} is set; hostbridge has no such setting"
            yield warning(
                found,
                "perhaps it is misspelt",
                f"rename {name}, if {near[0]} was meant",
            )


def config_files(subject: Subject) -> Iterator[Finding]:
    """Whether what `hostbridge config` keeps can be read, and by whom."""
    if subject.place is None:
        return
    for path in files_of(subject.settings, subject.place.state):
        file = read_file(path)
        for found in file.problems:
            cause = "commands refuse the file; hooks read it as if it were not there"
            yield problem(found, cause, f"correct {path}, or move it away")
        if file.is_exposed and any(TABLE[key].is_secret for key in file.values):
            found = f"{path} holds a key, and others can read it"
            yield warning(found, "its mode", in_shell("chmod", "600", path))
        elif file.text is not None and not file.problems:
            yield ok(f"{path}: {', '.join(file.values) or 'empty'}")


def _shown(name: str, value: str) -> str:
    """The value, unless it is a secret: doctor's output is pasted into reports."""
    is_secret = name.endswith(("_KEY", "_PASSWORD"))
    return "…" if is_secret else without_passwords(value)


def switch(subject: Subject) -> Iterator[Finding]:
    """Whether the bridge is switched off."""
    if subject.settings.off:
        yield problem(
            "off in this shell: BRIDGE_OFF is set",
            "`ask` and sessions that are started from here do nothing",
            "unset BRIDGE_OFF, and start sessions without it",
        )
    store = subject.store()
    if store is None or not store.place.state.is_dir():
        return
    if is_off(store):
        yield problem(f"off in {subject.project}", "`hostbridge off`", "hostbridge on")
    elif not subject.settings.off:
        yield ok("on")
