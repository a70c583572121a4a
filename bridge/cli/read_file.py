"""Files that a user names: what they hold, or an error that names the file."""

from pathlib import Path

from bridge.errors import InvalidRequest, reason_of


def bytes_of(file: Path) -> bytes:
    """What the file holds."""
    try:
        return file.read_bytes()
    except OSError as exc:
        raise InvalidRequest(f"{file}: {reason_of(exc)}") from None


def decoded(data: bytes, what: str) -> str:
    """UTF-8, or an error that says where it is not."""
    try:
        return data.decode()
    except UnicodeDecodeError as exc:
        raise InvalidRequest(
            f"{what}: expected UTF-8, got byte 0x{data[exc.start]:02x} at offset "
            f"{exc.start}"
        ) from None
