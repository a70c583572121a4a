"""Answer what was submitted for the routes claude, local and endpoint, right here.

Serves one request after another, highest priority first, until Ctrl-C; with --once
only those that wait now. An interrupted request waits again. Prints a line for each
request that it served, or that nobody served in time, and marks degraded answers. The
exit code says whether serving worked; for an answer's own, see `wait`. A bug in
hostbridge ends the request that hit it, and is logged; the others are still served.

With --queue it answers what other machines ask over the queue (docs/many-machines.md)
by the routes local and endpoint; host and claude, which use your own login, only if
--routes names them. An interrupt, or SIGTERM, hands back what it holds.

For example:
  hostbridge serve
  hostbridge serve --once --route claude
  hostbridge serve --queue --routes local --slots 2
"""

from argparse import Namespace
from collections.abc import Container
from contextlib import suppress

from bridge.api.bridge import Bridge
from bridge.api.project_requests import go_on_after
from bridge.api.result import result_of
from bridge.bound.folder_trust import note_of
from bridge.cli.asking.answer_text import result_line
from bridge.cli.common.crash_report import log_bug
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.interrupts import Interrupts
from bridge.cli.common.options import AS_JSON, at_least, option, switch
from bridge.cli.common.output import complain, record, say_result
from bridge.errors import InvalidRequest, StateUnavailable
from bridge.protocol.ids import RequestId
from bridge.protocol.retries import pause_words
from bridge.store.cleaning import start_if_due
from bridge.store.live_runs import some_live
from bridge.worker.executors import open_workers
from bridge.worker.serve_loop import serve, waiting_for_a_try, waiting_for_others

_OF_QUEUE = ("routes", "agents", "drain", "same_commit")


def _count(text: str) -> int:
    return int(at_least(1)(text))


OPTIONS = (
    switch("--once", help="Serve what waits now, then exit."),
    option(
        "--route",
        metavar="ROUTE",
        completes="routes",
        action="append",
        help="Only this route; may be repeated.",
    ),
    AS_JSON,
    switch("--queue", help="Answer what other machines ask over the queue."),
    option("--routes", metavar="R,R", help="With --queue: the routes that answer."),
    option("--agents", metavar="A,A", help="With --queue: only these agents."),
    option(
        "--slots", metavar="N", type=_count, default=1, help="With --queue: so many."
    ),
    switch("--drain", help="With --queue: when interrupted, finish first."),
    switch("--same-commit", help="With --queue: only what is about this commit."),
)


def command(options: Namespace) -> int:
    """Serve, and print a line for each request; returns the exit code."""
    Interrupts().on()
    bridge = Bridge.open()
    if options.queue:
        return _of_queue(bridge, options)
    for name in _OF_QUEUE:
        if getattr(options, name):
            raise InvalidRequest(f"--{name.replace('_', '-')} needs --queue")
    return _of_files(bridge, options)


def _of_queue(bridge: Bridge, options: Namespace) -> int:
    if options.route:
        raise InvalidRequest("--route is for serve without --queue: use --routes")
    from bridge.cli.setup.serve_queue import serve_queue

    return serve_queue(bridge, options)


def _of_files(bridge: Bridge, options: Namespace) -> int:
    """Serve what waits in the state directory of this project."""
    missing: list[str] = []
    workers = open_workers(
        bridge.store, bridge.settings, options.route, on_missing=missing.append
    )
    complain(f"serving {bridge.store.place.project} by {', '.join(workers)}")
    for why in missing:
        complain(f"not served: {why}")
    note = note_of(bridge.settings, bridge.store.place)
    if note and "claude" in workers:
        complain(note)
    logs = []

    def on_bug(request_id: RequestId, exc: Exception) -> None:
        logs.append(log_bug(exc))
        complain(f"request {request_id}: a bug: {exc!r}; the log is {logs[-1]}")

    def on_trouble(exc: StateUnavailable) -> None:
        complain(f"cannot serve just now, trying again: {exc}")

    def look() -> None:
        # A deadline of a run may have passed, or a program of it have to be run.
        if some_live(bridge.store.place):
            from bridge.engine.advance import advance_all

            advance_all(bridge.store, bridge.settings)
        start_if_due(bridge.store, bridge.settings)

    served = serve(
        bridge.store,
        workers,
        is_off=lambda: bridge.hosts.is_off,
        once=options.once,
        on_bug=on_bug,
        on_trouble=on_trouble,
        on_look=look,
    )
    for response in served:
        go_on_after(bridge.store, bridge.settings, response.request_id)
        say_result(options, record(response), result_line(result_of(response)))
    if options.once:
        _say_what_is_tried_again(bridge, workers)
    if options.once and not options.route:
        _say_what_is_left(bridge, workers)
    return Exit.BUG if logs else Exit.OK


def _say_what_is_tried_again(bridge: Bridge, served: Container[str]) -> None:
    """Name what waits for its next try, and until when."""
    with suppress(StateUnavailable):
        for request in waiting_for_a_try(bridge.store, served):
            waits = pause_words(request, bridge.store.now_ms()) or "its next try is due"
            complain(
                f"request {request.request_id}: {waits}; `hostbridge serve` goes on "
                "with it"
            )


def _say_what_is_left(bridge: Bridge, served: Container[str]) -> None:
    """Name the routes that requests wait for and that are not served here."""
    if bridge.hosts.is_off:
        complain("hostbridge is off in this project; `hostbridge on` goes on")
        return
    # Serving has succeeded, even if the rest cannot be counted.
    with suppress(StateUnavailable):
        counts = waiting_for_others(bridge.store, served)
        if counts:
            left = ", ".join(f"{n} for {name}" for name, n in sorted(counts.items()))
            complain(f"still waiting: {left}; `hostbridge doctor` says what is missing")
