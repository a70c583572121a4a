"""The table: what, floor, figure, their comparison, the goal, whether it is met."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.timing import Series

# times: figure / floor. more: figure - floor. value: the figure itself.
By = Literal["times", "more", "value"]
HEADER = ("what", "floor", "figure", "min..max", "compared", "goal", "met")


@dataclass(frozen=True, slots=True)
class Row:
    """One line; without a `goal` it is only there for information.

    The goal is the highest value that meets it or, with `at_least`, the lowest.
    """

    what: str
    figure: Series
    floor: Series | None = None
    goal: float | None = None
    by: By = "times"
    unit: str = "ms"
    at_least: bool = False

    @property
    def compared(self) -> float:
        """The value that the goal is for."""
        if self.floor is None or self.by == "value":
            return self.figure.median
        if self.by == "more":
            return self.figure.median - self.floor.median
        return self.figure.median / (self.floor.median or math.ulp(0))

    @property
    def is_met(self) -> bool:
        """Whether the goal is reached; true for a row without a goal."""
        if self.goal is None:
            return True
        return (
            self.compared >= self.goal if self.at_least else self.compared <= self.goal
        )

    def cells(self) -> tuple[str, ...]:
        """The texts of the line, in the order of `HEADER`."""
        return (
            self.what,
            "-" if self.floor is None else f"{self.floor.median:.4g} {self.unit}",
            f"{self.figure.median:.4g} {self.unit}",
            self.figure.spread,
            self._as_compared(self.compared),
            "-"
            if self.goal is None
            else f"{self._sign} {self._as_compared(self.goal)}",
            "" if self.goal is None else "yes" if self.is_met else "NO",
        )

    @property
    def _sign(self) -> str:
        return ">=" if self.at_least else "<="

    def _as_compared(self, value: float) -> str:
        if self.floor is None or self.by == "value":
            return f"{value:.4g} {self.unit}"
        return f"{value:+.4g} {self.unit}" if self.by == "more" else f"{value:.2f} x"


def show(title: str, rows: Sequence[Row]) -> None:
    """Print a table."""
    lines = [HEADER, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    load = os.getloadavg()[0]
    print(f"\n{title} (medians; {os.cpu_count()} cores, load {load:.1f})\n")
    for number, line in enumerate(lines):
        texts = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        print("  ".join(texts).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))
