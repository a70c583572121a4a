"""Where the files that are not Python lie: in the installed package, or beside it."""

from pathlib import Path

from bridge.errors import BridgeError

_PACKAGE = Path(__file__).resolve().parent


class NotShipped(BridgeError):
    """A folder that belongs to hostbridge is missing from this installation."""

    code = "not_shipped"


def hooks_folder() -> Path:
    """The folder of the hook executables.

    Raises:
        NotShipped: this installation has none.
    """
    return _shipped("hooks", "lib.sh")


def agents_folder() -> Path:
    """The folder of the built-in agent definitions.

    Raises:
        NotShipped: this installation has none.
    """
    return _shipped("agents", "researcher.yaml")


def optional_folder(name: str) -> Path | None:
    """The folder of the built-in files of a kind, if this installation has one."""
    places = (_PACKAGE / "_shipped" / name, _PACKAGE.parent / name)
    return next((folder for folder in places if folder.is_dir()), None)


def _shipped(name: str, witness: str) -> Path:
    """A wheel holds a copy; an editable install has the repository's."""
    places = (_PACKAGE / "_shipped" / name, _PACKAGE.parent / name)
    for folder in places:
        if (folder / witness).is_file():
            return folder
    raise NotShipped(
        f"{places[0]}: not there, and neither is {places[1]}; install hostbridge again"
    )
