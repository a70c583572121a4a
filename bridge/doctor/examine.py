"""The table of checks, and the one function that runs them: it never raises."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from bridge.doctor import (
    client,
    elsewhere,
    hook_run,
    hooks,
    machine,
    mcp,
    models,
    queue,
    recent_failures,
    requests,
    rules,
    searching,
    state,
    tasks,
)
from bridge.doctor.finding import Finding, Verdict, problem
from bridge.doctor.subject import Subject
from bridge.errors import BridgeError

# The check of what has ended: it says nothing of what holds now.
PAST = "answers"
# Each check relies on those before it.
CHECKS: tuple[tuple[str, Callable[[Subject], Iterator[Finding]]], ...] = (
    ("python", machine.python),
    ("settings", machine.variables),
    ("config.toml", machine.config_files),
    ("switch", machine.switch),
    ("state", state.directory),
    ("locks", state.locks),
    ("quarantine", state.quarantine),
    ("checkouts", state.checkouts),
    ("worktrees", state.worktrees),
    ("clean-up", state.cleaned),
    ("hook errors", state.hook_errors),
    ("hook policy", hooks.allowed),
    ("hooks", hooks.registered),
    ("hooks run", hook_run.run),
    ("client", client.version),
    ("session", client.open_sessions),
    ("search", searching.agents_search),
    ("place", elsewhere.open_elsewhere),
    ("place", elsewhere.open_nearby),
    ("claude", models.claude),
    ("local", models.local),
    ("endpoint", models.endpoint),
    ("queue", queue.queue),
    ("trust", rules.trusted),
    ("rules", rules.files),
    ("mcp", mcp.server),
    ("requests", requests.stuck),
    ("tasks", tasks.database),
    (PAST, recent_failures.recent),
)


def examine(subject: Subject) -> Iterator[Finding]:
    """Run every check, whatever the others find; yields each finding at once."""
    for name, check in CHECKS:
        yield from guarded(name, partial(check, subject))


def guarded(name: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """What `look` finds, under this name; if it fails, that is the finding."""
    failed = "this could not be checked"
    try:
        for finding in look():
            yield replace(finding, name=name)
    except BridgeError as exc:
        cure = "; ".join(exc.ways) or f"see to what `{name}` says, then look again"
        yield replace(problem(exc.what, failed, cure), name=name)
    except Exception as exc:  # noqa: BLE001 - a doctor survives the illness
        cure = f"see to what `{name}` says; if you cannot, report a bug"
        found = f"{type(exc).__name__}: {exc}"
        yield replace(problem(found, failed, cure), name=name)


def worst(findings: Iterable[Finding]) -> Verdict:
    """The verdict over all findings."""
    order = list(Verdict)
    return max((f.verdict for f in findings), key=order.index, default=Verdict.OK)
