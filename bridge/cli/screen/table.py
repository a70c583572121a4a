"""Tables: whole values between tabs in a pipe; on a terminal, as wide as it is.

What a narrow terminal has no room for is cut, the widest column first, or left out.
What a person copies is never cut: ids stay, and paths go on a line of their own below.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bridge.cli.screen.screen import Line, Styled, cells, cut, padded, styled_as
from bridge.protocol.wording import one_line

_GAP = 2


class Column(NamedTuple):
    """One column.

    Attributes:
        title: its heading.
        least: to how many columns of the terminal it may be cut; 0 is never cut.
        spare: which columns are left out first: the highest; 0 is never left out.
        whole: a value that does not fit stands below its row, and is not cut.
    """

    title: str
    least: int = 0
    spare: int = 0
    whole: bool = False


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int | None
) -> Iterator[Line]:
    """The lines of a table; `width` None is a pipe.

    A column without a value is left out, but not in a pipe, where others count them.
    """
    found = [[styled_as(v, one_line(v, len(v))) for v in row] for row in rows]
    if width is None:
        yield "\t".join(column.title for column in columns)
        yield from map("\t".join, found)
        return
    used = [at for at in range(len(columns)) if any(row[at] for row in found)]
    found.insert(0, [Styled(column.title, "bold") for column in columns])
    full = {at: max(cells(row[at]) for row in found) for at in used}
    least = {at: min(n, columns[at].least or n) for at, n in full.items()}
    for at in (at for at in used if columns[at].whole):
        others = {other: n for other, n in least.items() if other != at}
        room = width - _GAP - _sum(others.values())
        if room < cells(columns[at].title):
            kept = (n for other, n in others.items() if not columns[other].spare)
            room = width - _GAP - _sum(kept)
        fitting = (n for row in found if (n := cells(row[at])) <= room)
        least[at] = full[at] = max(fitting, default=0)
    widths = _fitted(columns, full, least, width)
    for row in found:
        # Only of those columns a value may be wider than what it has got by now.
        below = [at for at in widths if columns[at].whole and cells(row[at]) > full[at]]
        shown = {at: "" if at in below else row[at] for at in widths}
        yield _row([(shown[at], room) for at, room in widths.items()])
        yield from (f"    {row[at]}" for at in below)


def _fitted(
    columns: Sequence[Column], full: dict[int, int], least: dict[int, int], width: int
) -> dict[int, int]:
    """How wide each column becomes; those that have no room are left out."""
    widths = dict(full)
    while _sum(least.values()) > width:
        spare = [at for at in least if columns[at].spare]
        if not spare:
            break
        gone = max(spare, key=lambda at: columns[at].spare)
        del least[gone], widths[gone]
    while _sum(widths.values()) > width:
        long = [at for at, room in widths.items() if room > least[at]]
        if not long:
            break
        widths[max(long, key=widths.__getitem__)] -= 1
    return widths


def _sum(widths: Iterable[int]) -> int:
    found = list(widths)
    return sum(found) + _GAP * (len(found) - 1)


def _row(values: Sequence[tuple[str, int]]) -> Line:
    pieces: list[str] = []
    end = max((at for at, (value, _) in enumerate(values) if value), default=0)
    for value, room in values[:end]:
        pieces += [padded(cut(value, room), room), " " * _GAP]
    return (*pieces, cut(*values[end]))
