"""The metrics of a project on the screen: tables, and what stands below them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from bridge.cli.screen.quantities import moment, number, percent, took
from bridge.cli.screen.screen import wrapped
from bridge.cli.screen.table import Column, table
from bridge.metrics.counts import FlowCell, TaskCell

if TYPE_CHECKING:
    from bridge.cli.screen.screen import Line
    from bridge.metrics.counts import Tally
    from bridge.metrics.metrics import Metrics

_TOTAL = "(all)"
_UNKNOWN = "(unknown)"
_COLUMNS = (
    Column("ENDED"),
    Column("OK"),
    Column("P50"),
    Column("P95"),
    Column("WAIT", spare=1),
    Column("VERIFIED", spare=2),
    Column("RETRIES", spare=3),
    Column("CORRECTIONS", spare=4),
    Column("TOKENS"),
)
_FLOWS = (
    Column("FLOW", least=12),
    Column("ENDED"),
    Column("OK"),
    Column("P50"),
    Column("P95"),
    Column("AGENTS", spare=1),
    Column("TOKENS"),
)
# To what names may be cut: those of a day and of a route are short; others may be long,
# and have less room where there are many columns of names.
_SHORT = {"day": 10, "route": 8}
_MANY, _LEAST_OF_MANY, _LEAST = 3, 7, 15


def stats_lines(found: Metrics, width: int | None) -> Iterator[Line]:
    """All that is known of a time."""
    if found.cells:
        yield from _requests(found, width)
    if found.flows:
        yield ""
        yield from table(_FLOWS, map(_flow_row, _flows(found.flows)), width)
    if found.tasks:
        yield ""
        yield from wrapped(f"tasks: {_tasks(found.tasks)}", width, "")
    yield ""
    yield f"since {moment(found.since_ms)}{_before(found)}"


def nothing_ended(found: Metrics) -> str:
    """What to do where there is nothing to show."""
    if found.begins_ms is None or found.begins_ms >= found.since_ms:
        return (
            "nothing has ended here yet; begin with: "
            'hostbridge ask "Which modules have no test?"'
        )
    return (
        f"nothing has ended since {moment(found.since_ms)}; the record begins "
        f"{moment(found.begins_ms)}: hostbridge stats --since all"
    )


def _requests(found: Metrics, width: int | None) -> Iterator[Line]:
    least = _LEAST_OF_MANY if len(found.by) >= _MANY else _LEAST
    names = [Column(each.upper(), least=_SHORT.get(each, least)) for each in found.by]
    rows = [
        (*(name or _UNKNOWN for name in key), *_figures(tally))
        for key, tally in found.groups.items()
    ]
    total = found.total
    blanks = [""] * (len(names) - 1)
    yield from table(
        [*names, *_COLUMNS], [*rows, (_TOTAL, *blanks, *_figures(total))], width
    )
    if total.failures:
        yield ""
        said = _counted(total.failures)
        yield from wrapped(f"failed: {said}", width, "")
    rare = {
        "retries": total.retries,
        "corrections": total.corrections,
        "degraded": total.degraded,
    }
    if any(rare.values()):
        yield _counted(rare)


def _figures(tally: Tally) -> tuple[str, ...]:
    return (
        f"{tally.ended:,}",
        percent(tally.success_rate),
        took(tally.duration_ms(0.5)),
        took(tally.duration_ms(0.95)),
        took(tally.wait_ms(0.5)),
        percent(tally.verified_share),
        _some(tally.retries),
        _some(tally.corrections),
        _some(tally.usage.tokens),
    )


def _some(count: int) -> str:
    return number(count) if count else ""


def _counted(counts: Mapping[str, int]) -> str:
    """The largest first: `timeout 3, no_json 1`."""
    found = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{name} {count:,}" for name, count in found if count)


def _flows(cells: Iterable[FlowCell]) -> list[FlowCell]:
    """The flows of all days, what ran most often first."""
    found: dict[str, FlowCell] = {}
    for cell in cells:
        found.setdefault(cell.name, FlowCell("", cell.name)).add(cell)
    return sorted(found.values(), key=lambda one: (-sum(one.ended.values()), one.name))


def _flow_row(flow: FlowCell) -> tuple[str, ...]:
    ended = sum(flow.ended.values())
    return (
        flow.name or _UNKNOWN,
        f"{ended:,}",
        percent(flow.ended.get("completed", 0) / ended),
        took(flow.durations.quantile_ms(0.5)),
        took(flow.durations.quantile_ms(0.95)),
        f"{flow.agents:,}",
        _some(flow.tokens),
    )


def _tasks(cells: Iterable[TaskCell]) -> str:
    found = TaskCell("")
    for cell in cells:
        found.add(cell)
    return (
        f"{found.created:,} created, {found.closed:,} closed, {found.escalated:,} "
        f"escalated; validations: {found.passed:,} passed, {found.failed:,} failed"
    )


def _before(found: Metrics) -> str:
    """What is not on record any more, where that is asked for."""
    if found.begins_ms is None or found.begins_ms <= found.since_ms:
        return ""
    return f"; the record begins {moment(found.begins_ms)}"
