"""Errors that a user can cause and fix.

Every error is a `BridgeError` with its code, and the stage and request id that apply:
a program can act on it without reading prose. A programming mistake stays a
`ValueError`. state/FAILURES.md lists the codes; those that a request may end with are
the table of `bridge.protocol.failure_codes`. `RequestFailed`, which
carries a response, is beside `Response` in `bridge.protocol.response`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class BridgeError(Exception):
    """Something a user can cause and fix.

    Attributes:
        code: which kind of error it is; see state/FAILURES.md.
        what: what happened.
        ways: what helps, each on its own; `str()` has both.
        stage: where the request stood, or None.
        request_id: the request concerned, or None.
    """

    # The name that people import it by, and that a traceback shows.
    __module__ = "bridge"
    code: str = "error"

    def __init_subclass__(cls) -> None:
        cls.__module__ = cls.__module__.removesuffix(".errors")

    def __init__(
        self,
        what: str,
        *,
        ways: Sequence[str] = (),
        stage: str | None = None,
        request_id: str | None = None,
    ) -> None:
        self.what = _encodable(what)
        self.ways = tuple(map(_encodable, ways))
        more = f". What to do: {'; '.join(self.ways)}" if ways else ""
        super().__init__(self.what + more)
        self.stage = stage
        self.request_id = request_id

    def __reduce__(self) -> tuple[object, ...]:
        """Let it leave a process pool: by what it says, not by what it was made of."""
        return _restored, (type(self), self.args, self.__dict__)


def reason_of(error: OSError) -> str:
    """Why the system refused something, as our errors say it: in lower case."""
    return (error.strerror or str(error) or type(error).__name__).lower()


class InvalidRequest(BridgeError):
    """An argument, an option or an id is not what it must be; nothing was done."""

    code = "bad_request"


class UnclearAnswer(InvalidRequest):
    """What a person said at a checkpoint is neither yes nor no; it waits as before."""

    def __init__(self, said: str, node: str, how: str) -> None:
        super().__init__(
            f"{said!r} is neither yes nor no, and {node} waits for one: say {how}"
        )


class UnknownAgent(BridgeError):
    """No agent has this name, or not on this route; nothing was asked."""

    code = "agent_missing"


class BadDefinition(BridgeError):
    """The definition of the agent cannot be used; nothing was asked.

    Attributes:
        problems: each with its file, line and place.
    """

    code = "bad_definition"

    def __init__(self, name: str, problems: Sequence[object]) -> None:
        listed = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"agent {name!r} cannot be used:{listed}")
        self.problems = tuple(problems)


class NotTrusted(BridgeError):
    """The project's own definition has not been trusted; nothing was asked."""

    code = "not_trusted"

    def __init__(
        self, name: str, file: Path, *, is_changed: bool = False, what: str = "agent"
    ) -> None:
        why = (
            "which has changed since you trusted it"
            if is_changed
            else "which you have not trusted"
        )
        super().__init__(
            f"{what} {name!r} is defined by this project in {file}, {why}",
            ways=("hostbridge trust shows it, and asks you",),
        )
        self.file = file


class CannotContinue(BridgeError):
    """The agent of that request cannot be asked again; nothing was asked."""

    code = "cannot_continue"


class NotShared(BridgeError):
    """The user has not said that programs may see a session's conversation."""

    code = "not_shared"


class NoHost(BridgeError):
    """No open Claude Code session can take the request; nothing was asked."""

    code = "no_host"


class NoRoute(BridgeError):
    """This machine lacks what the route needs; nothing was asked."""

    code = "no_route"


class NoQueue(NoRoute):
    """The queue cannot be reached, or refuses; see `bridge.remote`.

    Attributes:
        passes: whether it may be over by itself: the line was cut, Redis starts anew.
    """

    code = "no_queue"

    def __init__(self, what: str, cure: str = "", *, passes: bool = False) -> None:
        super().__init__(f"the queue {what}", ways=(cure,) if cure else ())
        self.passes = passes


class DepthExceeded(BridgeError):
    """Too many agents asked for one another; nothing was asked."""

    code = "depth"


class UnknownRequest(BridgeError):
    """There is no such request, or its file cannot be read."""

    code = "unknown_request"


class CannotWaitHere(BridgeError):
    """The caller runs inside the only session, which would have to wait for itself."""

    code = "cannot_wait"


class WaitTimeout(BridgeError):
    """The wait ended before the request did; the request is left as it was."""

    code = "timeout"


class StateRefused(BridgeError):
    """The state directory is not safe to use."""

    code = "state_refused"

    def __init__(self, path: Path, problem: str, cure: str) -> None:
        super().__init__(f"{path}: {problem}; {cure}")
        self.path = path


class StateUnavailable(BridgeError):
    """The state directory cannot be used just now: a lock, a disk, a file system.

    Attributes:
        is_lasting: whether it stays so until a person has done something.
    """

    code = "state_unavailable"
    is_lasting: bool = False


class StateVanished(StateUnavailable):
    """The state directory was removed or replaced while it was in use."""

    code = "state_vanished"


class NewerSchema(BridgeError):
    """The file was written by a newer hostbridge."""

    code = "newer_schema"


class BadSetting(BridgeError):
    """A setting holds a value that means nothing."""

    code = "bad_setting"


class ExtraMissing(BridgeError):
    """An optional part of hostbridge is not installed.

    Attributes:
        extra: the extra that brings it.
        missing: the package that was not found.
    """

    code = "extra_missing"

    def __init__(self, extra: str, missing: str, *, needed_for: str = "") -> None:
        from bridge.extras import how_to_add

        fact = f"{needed_for} takes {missing}, which" if needed_for else missing
        super().__init__(f"{fact} is not installed; run: {how_to_add(extra)}")
        self.extra = extra
        self.missing = missing


def _restored(
    kind: type[BridgeError], said: tuple[str, ...], facts: dict[str, object]
) -> BridgeError:
    made = kind.__new__(kind, *said)
    made.__dict__.update(facts)
    return made


def _encodable(text: str) -> str:
    r"""Text that any stream and any JSON can hold; an undecodable byte becomes `\xe9`.

    File names may hold such bytes, which Python keeps as surrogates.
    """
    if text.isascii():
        return text
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode("utf-8", "backslashreplace")
    return data.decode("utf-8", "backslashreplace")
