"""Options that are whole numbers."""

from argparse import ArgumentTypeError
from collections.abc import Callable

MOST = 1_000_000_000


def number(least: int, most: int = MOST) -> Callable[[str], int]:
    """The type of an option: a whole number from `least` to `most`."""

    def read(text: str) -> int:
        digits = text.strip()
        # Longer ones are slow to read.
        if digits.isdecimal() and len(digits) <= len(str(most)):
            found = int(digits)
            if least <= found <= most:
                return found
        raise ArgumentTypeError(
            f"expected a whole number from {least} to {most:,}, got {text[:40]!r}"
        )

    return read
