"""Python, the libraries, the settings of the environment, the off switch."""

from __future__ import annotations

import platform
import sys
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from bridge.doctor.finding import Finding, ok, problem, warning
from bridge.store.switch import is_off

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.doctor.subject import Subject

LIBRARIES = (
    "pydantic",
    "orjson",
    "watchdog",
    "jsonschema-rs",
)
VARIABLES = (
    "BRIDGE_AGENTS_PER_HOUR",
    "BRIDGE_CLAUDE",
    "BRIDGE_CLI_FALLBACK",
    "BRIDGE_DEBUG",
    "BRIDGE_HOME",
    "BRIDGE_LEASE_S",
    "BRIDGE_LOCAL_CACHE_MB",
    "BRIDGE_LOCAL_CONTEXT",
    "BRIDGE_LOCAL_MEMORY_MB",
    "BRIDGE_LOCAL_MODEL",
    "BRIDGE_MAX_DEPTH",
    "BRIDGE_MAX_OFFERS",
    "BRIDGE_OFF",
    "BRIDGE_OPENAI_API_KEY",
    "BRIDGE_OPENAI_BASE_URL",
    "BRIDGE_OPENAI_MODEL",
    "BRIDGE_REQUESTER",
    "BRIDGE_SLOTS",
    "BRIDGE_STATE_DIR",
)


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
        yield problem(
            "python",
            f"{found}; missing: {', '.join(missing)}",
            cause="the installation is incomplete",
            cure="install hostbridge again",
        )
    else:
        yield ok("python", found)


def variables(subject: Subject) -> Iterator[Finding]:
    """Whether every `BRIDGE_*` variable is known and valid."""
    ours = sorted(name for name in subject.env if name.startswith("BRIDGE_"))
    known = [name for name in ours if name in VARIABLES]
    if subject.complaint:
        yield problem(
            "settings",
            subject.complaint,
            cause="no command and no hook works with an invalid setting",
            cure="correct the variable, or unset it",
        )
    else:
        values = ", ".join(
            f"{name}={_shown(name, subject.env[name])}" for name in known
        )
        none = "" if ours else "; no BRIDGE_* variable is set"
        yield ok("settings", values or f"the defaults{none}")
    for name in ours:
        near = get_close_matches(name, VARIABLES, n=1, cutoff=0.85)
        if name not in VARIABLES and near:
            yield warning(
                "settings",
                f"{name} is set; hostbridge has no such setting",
                cause="perhaps it is misspelt",
                cure=f"was {near[0]} meant?",
            )


def _shown(name: str, value: str) -> str:
    """The value, unless it is a secret: what doctor prints is pasted into reports."""
    return "…" if name.endswith("_KEY") else value


def switch(subject: Subject) -> Iterator[Finding]:
    """Whether somebody has switched the bridge off."""
    if subject.settings.off:
        yield problem(
            "switch",
            "off in this shell: BRIDGE_OFF is set",
            cause="`ask` and sessions that are started from here do nothing",
            cure="unset BRIDGE_OFF, and start sessions without it",
        )
    store = subject.store()
    if store is None or not store.place.state.is_dir():
        return
    if is_off(store):
        yield problem(
            "switch",
            f"off in {subject.project}",
            cause="`hostbridge off`",
            cure="hostbridge on",
        )
        return
    if not subject.settings.off:
        yield ok("switch", "on")
