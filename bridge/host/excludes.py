"""Our own settings file of one user, which is no part of a project: git ignores it.

The client does so in the user's own file of ignored names, but not before its first
session on a terminal. Until then `validate` would look at it.
"""

from pathlib import Path
from typing import NamedTuple

from bridge.change.collect import read_files
from bridge.change.git_folder import Unreadable, check_inside, own_folders
from bridge.errors import InvalidRequest
from bridge.host import replaced_file


class Excluded(NamedTuple):
    """What was written for git.

    Attributes:
        file: the repository's own list of ignored names.
        text: what was added at its end.
        is_made: whether there was no such file.
    """

    file: Path
    text: str
    is_made: bool


def exclude(project: Path, name: str) -> Excluded | None:
    """Have git ignore a new file of a project; None if nothing is to be done.

    Raises:
        SettingsUnreadable: the list of ignored names cannot be written.
    """
    try:
        found = read_files(project, paths=(name,))
        common = own_folders(project)[1]
        # Anybody may have made the link: an unpacked archive, say.
        check_inside(common, "info/exclude")
    except (InvalidRequest, Unreadable):
        return None
    if found is None or name not in found.new:
        return None
    file = common / "info" / "exclude"
    before = replaced_file.load(file)
    begin = "\n" if before and not before.endswith("\n") else ""
    text = f"{begin}/{name}\n"
    replaced_file.store(file, (before or "") + text, before=before)
    return Excluded(file, text, before is None)


def take_back(excluded: Excluded) -> None:
    """Take out what was added, and leave all that others have written since.

    Raises:
        SettingsUnreadable: the list of ignored names cannot be written.
    """
    info = excluded.file.parent
    if excluded.file.is_symlink() or info.is_symlink():
        # Not as it was when this was written.
        return
    before = replaced_file.load(excluded.file)
    if before is None:
        return
    if before.endswith(excluded.text):
        after = before.removesuffix(excluded.text)
    else:
        # As one line of several: that it begins one was our doing.
        line = excluded.text.removeprefix("\n")
        lines = before.splitlines(keepends=True)
        if line not in lines:
            return
        lines.remove(line)
        after = "".join(lines)
    kept = None if excluded.is_made and not after else after
    replaced_file.store(excluded.file, kept, before=before)
    if kept is None:
        replaced_file.remove_folder(excluded.file)
