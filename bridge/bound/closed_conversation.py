"""Where a conversation began that `claude -p` may resume, by what its client kept.

The client finds a session by its id whatever the folder: one of another project, too.
A user's yes counts for one project, so the conversation must be of that one.

Source: measured on Claude Code 2.1.330. `<claude>/projects/*/<session>.jsonl`; most
records have the working folder as `cwd`, the first one that in which it was started.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bridge.config import Settings
from bridge.errors import BridgeError, InvalidRequest
from bridge.protocol.record import json_object
from bridge.store.location import Place, find_owner
from bridge.store.plain_file import open_plain

# A first prompt may have images; without one the record is within 2 kB.
_MAX_BYTES = 64 << 20


def check_begun_in(place: Place, settings: Settings, session: str) -> None:
    """Check that a session's conversation began in this project, by its id.

    Raises:
        InvalidRequest: it began elsewhere, or the client has kept none of that id.
    """
    folders = list(_folders(settings.claude_dir, session))
    if not folders:
        raise InvalidRequest(
            f"No conversation found with session ID: {session} "
            f"(in {settings.claude_dir / 'projects'})"
        )
    for folder in folders:
        if not folder or find_owner(Path(folder)) != place.owner:
            where = f"but in {folder}: ask there" if folder else "as far as is known"
            raise InvalidRequest(
                f"the conversation of session {session} did not begin in "
                f"{place.owner}, {where}"
            )


def _folders(claude_dir: Path, session: str) -> Iterator[str]:
    """Where each file says that it began; empty for one that does not say it."""
    with suppress(OSError):
        for file in claude_dir.glob(f"projects/*/{session}.jsonl"):
            yield _first_folder(file)


def _first_folder(file: Path) -> str:
    with suppress(OSError, BridgeError), open_plain(file) as lines:
        left = _MAX_BYTES
        while left > 0 and (line := lines.readline(left)):
            left -= len(line)
            folder = json_object(line).get("cwd")
            if isinstance(folder, str) and folder.startswith("/"):
                return "" if "\0" in folder else folder
    return ""
