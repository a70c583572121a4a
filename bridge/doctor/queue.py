"""The queue of the route remote: whether it can be used, and what is wrong with it."""

from collections.abc import Iterator

from bridge.doctor.finding import Finding, ok, problem, warning
from bridge.doctor.subject import Subject
from bridge.errors import NoQueue, NoRoute
from bridge.remote.forward import open_queue


def queue(subject: Subject) -> Iterator[Finding]:
    """What is wrong with the queue; nothing is put there."""
    settings = subject.settings
    if settings.queue is None and settings.cli_fallback != "remote":
        yield ok("not set up: no queue is named")
        return
    try:
        opened = open_queue(settings)
    except NoRoute as exc:
        cure = "; ".join(exc.ways) or "set what is missing, or unset BRIDGE_QUEUE"
        yield problem(exc.what, "the settings name the route remote", cure)
        return
    from bridge.remote.health import facts_of, troubles

    try:
        found = [warning(*each) for each in troubles(opened, settings)]
        yield from found or [ok(f"{opened.address}: {facts_of(opened).words}")]
    except NoQueue as exc:
        cause = "no machine can be asked over it, and none is heard"
        yield problem(exc.what, cause, "; ".join(exc.ways))
    finally:
        opened.close()
