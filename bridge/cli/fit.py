"""Blocks of lines, fitted into the height of a terminal. Pure.

What has no room is cut from the longest list first, which then says how many are left
out; a block that comes last in importance goes as a whole if that is not enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bridge.cli.screen import Line, Styled


class Block(NamedTuple):
    """Lines that belong together.

    Attributes:
        head: what stands above.
        rows: a list, of which the end may be left out.
        foot: what stands below.
        unread: how many more rows there are that nobody has read.
        rank: how early the whole block is left out; 0 is never. The list of such a one
            is cut only when all others have been.
    """

    head: Sequence[Line] = ()
    rows: Sequence[Line] = ()
    foot: Sequence[Line] = ()
    unread: int = 0
    rank: int = 0

    def lines(self, shown: int) -> list[Line]:
        """The block with the first rows of its list."""
        left = len(self.rows) - shown + self.unread
        more = [Styled(f"and {left:,} more", "dim")] if left else []
        return [*self.head, *self.rows[:shown], *more, *self.foot]

    def height(self, shown: int) -> int:
        """How many lines that takes."""
        is_cut = len(self.rows) > shown or self.unread > 0
        return len(self.head) + shown + is_cut + len(self.foot)


def fitted(blocks: Sequence[Block], height: int) -> list[Line]:
    """The lines of all blocks, at most so many; a blank line between two if it fits."""
    left = [block for block in blocks if block.height(len(block.rows))]
    shown = [len(block.rows) for block in left]
    while _height(left, shown) > height:
        # The first row that goes makes place for the line that says so.
        loose = [at for at, n in enumerate(shown) if n > 1 and left[at].rank]
        if loose:
            shown[max(loose, key=lambda at: (shown[at], left[at].rank))] -= 1
            continue
        gone = max(range(len(left)), key=lambda at: left[at].rank)
        if left[gone].rank:
            del left[gone], shown[gone]
        elif max(shown) > 1:
            shown[shown.index(max(shown))] -= 1
        else:
            break
    gaps = _height(left, shown) + len(left) - 1 <= height
    return [*_joined(left, shown, gaps=gaps)][:height]


def _height(blocks: Sequence[Block], shown: Sequence[int]) -> int:
    return sum(b.height(n) for b, n in zip(blocks, shown, strict=True))


def _joined(
    blocks: Sequence[Block], shown: Sequence[int], *, gaps: bool
) -> Iterator[Line]:
    for at, (block, count) in enumerate(zip(blocks, shown, strict=True)):
        if at and gaps:
            yield ""
        yield from block.lines(count)
