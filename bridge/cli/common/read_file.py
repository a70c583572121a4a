"""Files that a user names: what they hold, or an error that names the file."""

from pathlib import Path
from typing import BinaryIO

from bridge.errors import InvalidRequest, reason_of

# More than any of them has; a device never ends.
MOST_BYTES = 64_000_000


def bytes_of(file: Path) -> bytes:
    """What the file holds; it may be a pipe."""
    try:
        with open(file, "rb") as opened:
            return all_of(opened, str(file))
    except OSError as exc:
        raise InvalidRequest(f"{file}: {reason_of(exc)}") from None


def all_of(opened: BinaryIO, name: str) -> bytes:
    """What an open file holds, or an error that names it if that is too much."""
    data = opened.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InvalidRequest(f"{name}: more than {MOST_BYTES:,} bytes")
    return data


def decoded(data: bytes, what: str) -> str:
    """UTF-8, or an error that says where it is not."""
    try:
        return data.decode()
    except UnicodeDecodeError as exc:
        raise InvalidRequest(
            f"{what}: expected UTF-8, got byte 0x{data[exc.start]:02x} at offset "
            f"{exc.start}"
        ) from None
