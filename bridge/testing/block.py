"""Put scripted answers under a program: `with answering(...)`.

Within the block whatever asks, in this process or in one that it starts, asks a state
directory that is there for the block alone. The requests are real, and so is the record
of each answer: it takes the way of an open session's, through the same claim, check and
seal. Only the session is a stand-in, and the time that an answer takes is only told.

What is not answered here is refused: on a route of its own (`claude`, `local`,
`endpoint`) a program would ask a model, which it finds nowhere in the block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from bridge.api import upkeep
from bridge.config import (
    SIGNS_OF_A_CLIENT,
    VARIABLES,
    Settings,
    change_environment,
)
from bridge.protocol.wording import shortened
from bridge.store import wait
from bridge.store.location import locate
from bridge.store.store import Store
from bridge.testing.answerer import Answerer
from bridge.testing.definitions import admit
from bridge.testing.folder import folder
from bridge.testing.host import StandIn
from bridge.testing.outcome import Outcome

if TYPE_CHECKING:
    from bridge.protocol.request import Request

_SHOWN = 60
# In real time: a function of the program replies at once, and a command soon.
REPLY_S = 3.0
# How often a waiter sees whether its agent asks; otherwise that is every two seconds.
_LOOK_S = 0.02

Answers = Callable[["Request"], Outcome]


@runtime_checkable
class Recording(Protocol):
    """What answers by what it has answered before, and so begins in each block."""

    def begin(self) -> Answers:
        """Play it from its beginning, whoever else plays it."""


Script = Outcome | Sequence[Outcome] | Mapping[str, "Script"] | Recording | Answers


class Unscripted(AssertionError):
    """A program asked what no answer was given for."""


class Answering:
    """The block; `requests` are those that were answered, and `outcomes` how, in order.

    Args:
        script: who answers what; see `answering`.
        is_open: whether a session is open: with none, nothing can be asked.
        reply_s: how long an agent's question waits for its reply; see `answering`.
    """

    def __init__(
        self, script: Script, *, is_open: bool = True, reply_s: float = REPLY_S
    ) -> None:
        self._script = script
        self._answers = _begun(script)
        self._is_open = is_open
        self._reply_s = reply_s
        self._open = ExitStack()
        self._answerer: Answerer | None = None
        self.requests: list[Request] = []
        self.outcomes: list[Outcome] = []

    def __enter__(self) -> Self:
        """Begin: from here on this process, and what it starts, asks here."""
        self.requests, self.outcomes = [], []
        self._answers = _begun(self._script)
        with ExitStack() as made:
            root = made.enter_context(folder())
            _share(root)
            before = change_environment(_environment(root))
            made.callback(change_environment, before)
            made.enter_context(_looking_often())
            settings = Settings.from_environment()
            place = locate(settings, Path())
            store = Store(place)
            admit(settings, place.project)
            host = made.enter_context(_hosting(store)) if self._is_open else None
            self._answerer = Answerer(
                store, host, self._outcome_of, reply_s=self._reply_s
            )
            made.callback(self._answerer.stop)
            self._open = made.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """End; what the script raised comes out here, whatever the program did."""
        self._open.close()
        if self._answerer is not None and self._answerer.raised is not None:
            raise self._answerer.raised from None

    def _outcome_of(self, request: Request) -> Outcome:
        outcome = self._answers(request)
        self.requests.append(request)
        self.outcomes.append(outcome)
        return outcome

    def told(self) -> list[str]:
        """What was asked and how it ended, a line for each request."""
        pairs = zip(self.requests, self.outcomes, strict=True)
        return [f"{question(asked)}: {outcome!r}" for asked, outcome in pairs]


def answering(script: Script, *, reply_s: float = REPLY_S) -> Answering:
    """Answer what a program asks within the block.

    `script` is an outcome, which then answers every request; a list of outcomes, one
    for each request in turn; either of them by the name of the agent that is asked; or
    a function from the request to its outcome, such as a `replay`.

    A question of an agent that nobody has replied to after `reply_s` seconds, which are
    waited for, ends its request as at its deadline.

    Raises:
        Unscripted: at the end of the block, if a request had no outcome.
    """
    if isinstance(script, Outcome) and script.code == "no_host":
        return Answering(script, is_open=False)
    return Answering(script, reply_s=reply_s)


def question(request: Request) -> str:
    """A request as messages name it: whom, and how the question begins."""
    words = shortened(" ".join(request.prompt.split()), _SHOWN)
    return f"{request.agent_type} was asked {words!r}"


def _begun(script: Script) -> Answers:
    """A script from its beginning: nothing of it has been played."""
    if isinstance(script, Outcome):
        return lambda _: script
    if isinstance(script, Mapping):
        return _by_agent({name: _begun(each) for name, each in script.items()})
    if isinstance(script, Recording):
        return script.begin()
    return script if callable(script) else _in_turn(script)


def _in_turn(outcomes: Sequence[Outcome]) -> Answers:
    left = iter(outcomes)

    def answers(request: Request) -> Outcome:
        for outcome in left:
            return outcome
        were = "outcome was" if len(outcomes) == 1 else "outcomes were"
        raise Unscripted(f"{question(request)}, and only {len(outcomes)} {were} given")

    return answers


def _by_agent(scripts: Mapping[str, Answers]) -> Answers:
    def answers(request: Request) -> Outcome:
        if request.agent_type not in scripts:
            known = ", ".join(sorted(scripts)) or "none"
            raise Unscripted(f"{question(request)}; there are outcomes for: {known}")
        return scripts[request.agent_type](request)

    return answers


@contextmanager
def _looking_often() -> Iterator[None]:
    """Have the waiters of this process look after their requests at once."""
    before = wait.TEND_S, upkeep.TEND_S
    wait.TEND_S = upkeep.TEND_S = _LOOK_S
    try:
        yield
    finally:
        wait.TEND_S, upkeep.TEND_S = before


@contextmanager
def _hosting(store: Store) -> Iterator[StandIn]:
    host = StandIn(store)
    try:
        yield host
    finally:
        host.close()


def _share(root: Path) -> None:
    """Say yes to `context="session"`: here it is the conversation of nobody."""
    home = root / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("share_conversation = true\n")


def _environment(root: Path) -> dict[str, str | None]:
    """Variables for a program that may ask nowhere else."""
    return {
        **dict.fromkeys((*VARIABLES, *SIGNS_OF_A_CLIENT)),
        "BRIDGE_HOME": str(root / "home"),
        "BRIDGE_STATE_DIR": str(root / "state"),
        "CLAUDE_CONFIG_DIR": str(root / "claude"),
        "BRIDGE_CLAUDE": str(root / "no-claude-in-a-test"),
        "BRIDGE_LOCAL_MODEL": str(root / "no-model-in-a-test.gguf"),
    }
