"""What the routes claude, local and endpoint would find here; no model is asked.

The open session works without any of them. A route that was never set up is ok; one
that was set up and cannot work is a warning.
"""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from bridge.doctor import client
from bridge.doctor.finding import Finding, ok, warning
from bridge.doctor.subject import Subject
from bridge.errors import BridgeError, reason_of
from bridge.extras import how_to_add
from bridge.llama.model_files import (
    HOW_TO_USE_ONE,
    Candidate,
    known_models,
    require_extra,
)
from bridge.protocol.wording import in_shell
from bridge.setting import without_passwords

_CONNECT_S = 1.0
_MIB = 1 << 20
_COMPILERS = ("c++", "g++", "clang++")


def claude(subject: Subject) -> Iterator[Finding]:
    """Whether the program of the route claude is there, and starts."""
    settings = subject.settings
    is_wanted = settings.cli_fallback == "claude" or "BRIDGE_CLAUDE" in subject.env
    name = settings.claude
    program = shutil.which(name, path=subject.env.get("PATH"))
    if program is None and not is_wanted:
        # The check of the client warns if none is on PATH.
        yield ok(f"not set up: no program {name!r} can be run")
    elif program is None:
        yield warning(
            f"cannot be used: no program {name!r} can be run",
            "the settings name the route claude, and its program is not there",
            "install Claude Code, or name its program in BRIDGE_CLAUDE",
        )
    elif number := client.version_of(subject, program):
        yield ok(f"{program} {number}")
    else:
        yield warning(
            f"{program} does not say its version",
            "it cannot be started, or is not Claude Code",
            f"try it: {program} --version; or name another in BRIDGE_CLAUDE",
        )


def local(subject: Subject) -> Iterator[Finding]:
    """Whether there is a local model, which one, and what it keeps on disk."""
    try:
        require_extra()
    except BridgeError as exc:
        yield _without_extra(subject, exc)
        return
    models = known_models(subject.settings)
    in_use = next((each for each in models if each.in_use), None)
    if in_use is None:
        names = ", ".join(each.path.name for each in models)
        found = f"no model is in use; by name only: {names}" if names else "no model"
        cause = "the extra is installed without its default model"
        yield warning(found, cause, HOW_TO_USE_ONE)
    else:
        yield _model(in_use)
    yield _kept(subject)


def _without_extra(subject: Subject, exc: BridgeError) -> Finding:
    path = subject.env.get("PATH")
    has_compiler = any(shutil.which(name, path=path) for name in _COMPILERS)
    lacks = "" if has_compiler else "; that needs a C++ compiler, and none is on PATH"
    settings = subject.settings
    if settings.local_model is None and settings.cli_fallback != "local":
        return ok(f"not set up: {exc}{lacks}")
    return warning(
        f"cannot be used: {exc}{lacks}",
        "the settings name the local route, and the extra is not installed",
        how_to_add("local"),
    )


def _model(candidate: Candidate) -> Finding:
    model = candidate.model
    if model is None:
        return warning(
            f"{candidate.path} ({candidate.found}) is no model: {candidate.problem}",
            "the file is incomplete, not a GGUF file, or not there",
            "name another in BRIDGE_LOCAL_MODEL; see: hostbridge models",
        )
    size = f"{model.header.parameters / 1e6:,.0f} million parameters"
    small = ", small: its answers are marked degraded" if model.is_small else ""
    return ok(f"{candidate.path} ({candidate.found}), {size}{small}")


def _kept(subject: Subject) -> Finding:
    """How much disk space saved prompts take, and where they are."""
    from bridge.llama.load_options import prompts_folder

    limit_mib = subject.settings.local_cache_mb
    folder = prompts_folder(subject.settings)
    for path in (folder.parent, folder):
        if limit_mib and (path.is_symlink() or (path.exists() and not path.is_dir())):
            return warning(
                f"prompts are not kept: {path} is no folder",
                "something else lies where they would be kept",
                in_shell("mv", path, f"{path}.aside"),
            )
    used = sum(map(_size, folder.iterdir())) if folder.is_dir() else 0
    return ok(f"prompts kept: {used / _MIB:.0f} of {limit_mib} MiB, in {folder}")


def _size(file: Path) -> int:
    try:
        return file.lstat().st_size
    except OSError:
        return 0


def endpoint(subject: Subject) -> Iterator[Finding]:
    """Whether a server is set and accepts a connection; nothing is sent."""
    from bridge.endpoint.endpoint_model import check_endpoint

    settings = subject.settings
    url = settings.openai_base_url
    if url is None and settings.cli_fallback != "endpoint":
        yield ok("not set up: BRIDGE_OPENAI_BASE_URL is not set")
        return
    try:
        check_endpoint(settings)
    except BridgeError as exc:
        cause = "the settings name the endpoint, and lack what it needs"
        yield warning(
            f"cannot be used: {exc}", cause, "set what is missing, or unset them"
        )
        return
    why, url = _unreachable(url or ""), without_passwords(url or "")
    if why:
        yield warning(
            f"{url} takes no connection: {why}",
            "the server is not running, or somewhere else",
            "start it, or correct BRIDGE_OPENAI_BASE_URL",
        )
        return
    model = settings.openai_model or "its only one: hostbridge models --route endpoint"
    yield ok(f"{url} takes connections; model: {model}")


def _unreachable(url: str) -> str | None:
    """Why a connection to an address fails; None if it succeeds."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), _CONNECT_S).close()
    except OSError as exc:
        return reason_of(exc)
    return None
