"""The page of a project's metrics."""

from datetime import timedelta

from bridge.metrics.reader import read
from bridge.protocol.type_checks import seconds_in
from bridge.report.page import page
from bridge.store.store import Store


def report_page(store: Store, since_s: float | timedelta | None) -> str:
    """The page of what has ended in the last `since_s` seconds, or of all on record.

    Raises:
        StateUnavailable, StateRefused: the state directory cannot be used.
    """
    since_ms = 0
    if since_s is not None:
        since_ms = store.now_ms() - int(seconds_in(since_s) * 1000)
    return page(read(store, since_ms=since_ms).to_data())
