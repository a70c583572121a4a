"""The table of checks, and the one function that runs them: it never raises."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bridge.doctor import (
    answers,
    client,
    elsewhere,
    hook_run,
    hooks,
    machine,
    models,
    policy,
    requests,
    searching,
    state,
)
from bridge.doctor.finding import Finding, Verdict, problem
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bridge.doctor.subject import Subject

    Check = Callable[[Subject], Iterator[Finding]]

# In the order in which one thing rests on another.
CHECKS: tuple[tuple[str, Check], ...] = (
    ("python", machine.python),
    ("settings", machine.variables),
    ("switch", machine.switch),
    ("state", state.directory),
    ("locks", state.locks),
    ("quarantine", state.quarantine),
    ("hook errors", state.hook_errors),
    ("hooks", hooks.registered),
    ("hook policy", policy.allowed),
    ("hooks run", hook_run.run),
    ("output", requests.output_cap),
    ("client", client.version),
    ("session", client.open_sessions),
    ("search", searching.agents_search),
    ("place", elsewhere.open_elsewhere),
    ("place", elsewhere.open_nearby),
    ("claude", models.claude),
    ("local", models.local),
    ("endpoint", models.endpoint),
    ("requests", requests.stuck),
    ("answers", answers.recent),
)


def examine(
    subject: Subject, checks: Iterable[tuple[str, Check]] = CHECKS
) -> Iterator[Finding]:
    """Run every check, whatever the others say; each finding as it is there."""
    for name, check in checks:
        yield from guarded(name, partial(check, subject))


def guarded(name: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """What `look` finds; when it cannot look, that is the finding."""
    try:
        yield from look()
    except BridgeError as exc:
        yield problem(
            name, str(exc), cause="it could not be looked at", cure="as it says"
        )
    except Exception as exc:  # noqa: BLE001 - a doctor does not die of the illness
        yield problem(
            name,
            f"{type(exc).__name__}: {exc}",
            cause="it could not be looked at",
            cure="mend what is said above; if nothing is, it is a bug of hostbridge",
        )


def worst(findings: Iterable[Finding]) -> Verdict:
    """The verdict over all findings."""
    order = list(Verdict)
    return max((f.verdict for f in findings), key=order.index, default=Verdict.OK)
