"""A request whose agent is a fork of a session's conversation: `ask --context session`.

The client's agent `fork` begins with the conversation as it is at that moment, and with
the session's own system prompt, model and tools. So whoever asks can learn all that was
said in it, and nobody does before the user has said yes: the setting
`share_conversation` counts as the files of settings have it when it is needed, which is
as the request is made, as the agent is started, and as it answers. No variable,
definition or file of a project's is one of them, and no model changes them.

No model gets a conversation by hostbridge: not an agent of ours, whose prompt may hold
the words of a stranger, nor anything that a session has started. What a record says of
its asker is checked here, by the caller and again by the session; whether the caller
itself runs below a session, in `bridge.api.session_context`.

A client finds a closed session by its id whatever the folder, one of another project,
too. A user's yes counts for one project, so the conversation must be of that one.

Source: measured on Claude Code 2.1.330. With a `name` a fork would lose what it knows.
`<claude>/projects/*/<session>.jsonl`: most records have the working folder as `cwd`,
the first one that in which the session was started.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from bridge.config import Settings
from bridge.errors import BridgeError, InvalidRequest, NotShared
from bridge.protocol.failure_codes import code_of
from bridge.protocol.names import GENERAL, INHERIT
from bridge.protocol.record import json_object
from bridge.protocol.response import failed
from bridge.store.config_file import in_files
from bridge.store.location import find_owner
from bridge.store.plain_file import open_plain
from bridge.store.sessions import live_sessions
from bridge.store.switch import eligible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.protocol.request import Request
    from bridge.store import Verdict
    from bridge.store.location import Place
    from bridge.store.store import Store

# The client's agent that begins with the session's conversation.
FORK = "fork"
# Tools that the client offers to a fork, as to the main thread, and to no other agent.
OF_THE_MAIN_THREAD = ("AskUserQuestion", "Workflow")
_CLIENTS_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_YES = "hostbridge config set --project share_conversation true"
# A first prompt may have images; without one the record is within 2 kB.
_MAX_START_BYTES = 64 << 20
_CLEARED = "its conversation was cleared since, and the session goes on without it"


def check(
    request: Request, settings: Settings, place: Place, *, is_applied: bool = True
) -> None:
    """Check that the agent of a request may be a fork, or that it is not one.

    `is_applied` is whether its definition has been applied to it, if it has one.

    Raises:
        NotShared: the user has not said yes.
        InvalidRequest: a model asks; or the request wants what no fork has.
    """
    if request.context_from is None:
        if _is_fork(subagent_type(request)):
            raise InvalidRequest(
                f"agent {request.agent_type!r} would be a fork of the session's "
                "conversation, which shows whoever asks all of it; say so: "
                "--context session, without an agent"
            )
        return
    if request.depth or request.parent_request_id or request.asker:
        raise InvalidRequest(
            "an agent asks, or what a session has started: it gets no conversation of "
            "a session; ask in a terminal of your own, or by a program started there"
        )
    if not is_shared(settings, place):
        raise NotShared(
            f"no program may see the conversation of a session in {place.project} "
            "(share_conversation)",
            ways=(
                f"say yes for this project: `{_YES}`",
                "ask without --context session",
            ),
        )
    if why := _why_unfit(request, is_applied=is_applied):
        raise InvalidRequest(f"--context session: {why}")


def subagent_type(request: Request) -> str:
    """The client's agent that runs the request."""
    if request.context_from is not None:
        return FORK
    if request.definition is None:
        return request.agent_type
    return request.definition.subagent_type or GENERAL


def _is_fork(name: str) -> bool:
    """Whether the client may take an agent's name for that of its fork.

    Source: Claude Code 2.1.330, which compares names without case, spaces and dashes.
    """
    plain = normalize("NFKC", name).casefold()
    return "".join(filter(str.isalnum, plain)) == FORK


def is_shared(settings: Settings, place: Place) -> bool:
    """Whether the user has said yes, as the files say by now."""
    return in_files(Settings(settings.home), place.state)[0].share_conversation


def _why_unfit(request: Request, *, is_applied: bool) -> str:
    """What of a request a fork cannot have; empty if nothing."""
    agent, applied = request.agent_type, request.definition
    if request.continues is not None:
        return "what an agent has answered is continued without it; leave one of them"
    if request.model not in (None, INHERIT):
        return (
            f"a fork has the session's own model, not {request.model!r}; leave the "
            f"model out, or have agent {agent!r} say {INHERIT}"
        )
    has_own = is_applied and applied is None and agent != GENERAL
    if request.is_temporary or has_own:
        return (
            f"a fork has the session's own prompt and tools, not those of agent "
            f"{agent!r}; name no agent, or one that hostbridge defines"
        )
    if applied and applied.subagent_type not in (None, GENERAL):
        kind = applied.subagent_type
        return f"agent {agent!r} runs as {kind!r} (subagent_type), and so as no fork"
    if request.works_through:
        return f"a fork works through no workflow ({request.works_through!r})"
    if request.reuse is not None:
        return f"agent {agent!r} is asked again (reuse), and a fork is asked only once"
    if request.may_ask:
        return "a fork is asked only once, and so asks nothing back (may_ask)"
    return ""


def verdict(
    store: Store, settings: Settings, session: str, request: Request
) -> Verdict:
    """What a session, for which it is, does about a waiting request for a fork."""
    try:
        check(request, settings, store.place, is_applied=False)
        if request.session is None:
            able = eligible(store, live_sessions(store), request)
            check_one({each.session_id for each in able})
        check_same(session, request)
    except BridgeError as exc:
        return failed(request, code_of(exc), exc.what, now_ms=store.now_ms())
    return "take"


def check_one(ids: Iterable[str]) -> None:
    """Check that it is clear whose conversation is meant.

    Raises:
        InvalidRequest: several sessions could take the request; names them.
    """
    known = sorted(ids)
    if len(known) > 1:
        named = " or ".join(f"--session {each}" for each in known)
        raise InvalidRequest(
            f"{len(known)} sessions are open here, each with a conversation of its "
            f"own; name the one that is meant: {named}"
        )


def check_route(request: Request) -> None:
    """Check a request that no session is to answer: `claude -p` can fork a closed one.

    Raises:
        InvalidRequest: its route has no conversation, or no session is named. Other
            words than an id would be the title of any session.
    """
    if request.route != "claude":
        raise InvalidRequest(
            f"route {request.route} has no conversation of a session",
            ways=(
                "leave the route out: an open session answers",
                "a closed one: --route claude --session ID",
                "say in the prompt what is to be known, without --context session",
            ),
        )
    if not _CLIENTS_ID.fullmatch(request.session or ""):
        named = f", not {request.session!r}" if request.session else ""
        raise InvalidRequest(
            "route claude forks the conversation of a closed session; name it by its "
            f"whole id: --session ID{named}"
        )


def check_closed(request: Request, settings: Settings, place: Place) -> None:
    """Check that the closed session of a request is one of this project.

    Raises:
        InvalidRequest: it is not one; or as `check_route`.
    """
    check_route(request)
    _check_begun_in(place, settings, request.session or "")


def check_same(session: str, request: Request) -> None:
    """Check that a session still has the conversation that a request is about.

    Raises:
        InvalidRequest: it was cleared.
    """
    claim = request.claim
    meant = request.session or (claim.session if claim else None)
    if meant not in (None, session):
        raise InvalidRequest(f"session {meant}: {_CLEARED}")


def _check_begun_in(place: Place, settings: Settings, session: str) -> None:
    """Check that a session's conversation began in this project, by its id.

    Raises:
        InvalidRequest: it began elsewhere, or the client has kept none of that id.
    """
    folders = list(_folders(settings.claude_dir, session))
    if not folders:
        raise InvalidRequest(
            f"No conversation found with session ID: {session} "
            f"(in {settings.claude_dir / 'projects'})"
        )
    for folder in folders:
        if not folder or find_owner(Path(folder)) != place.owner:
            where = f"but in {folder}: ask there" if folder else "as far as is known"
            raise InvalidRequest(
                f"the conversation of session {session} did not begin in "
                f"{place.owner}, {where}"
            )


def _folders(claude_dir: Path, session: str) -> Iterator[str]:
    """Where each file says that it began; empty for one that does not say it."""
    with suppress(OSError):
        for file in claude_dir.glob(f"projects/*/{session}.jsonl"):
            yield _first_folder(file)


def _first_folder(file: Path) -> str:
    with suppress(OSError, BridgeError), open_plain(file) as lines:
        left = _MAX_START_BYTES
        while left > 0 and (line := lines.readline(left)):
            left -= len(line)
            folder = json_object(line).get("cwd")
            if isinstance(folder, str) and folder.startswith("/"):
                return "" if "\0" in folder else folder
    return ""
