"""One setting: its variable, how its value is read, who reads it, what it means.

The table of all settings is the class `Settings` in `bridge.config`.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bridge.errors import BadSetting
from bridge.routes import OWN, OwnRoute

# The hooks of an open session, with the environment of its client; the program that
# asks; and `hostbridge serve`.
Reader = Literal["session", "caller", "serve"]

# More than anybody needs, and every reader of JSON keeps it exact.
MOST = 1_000_000_000
_MAX_QUOTED = 40
# Compiled once a number is read.
_NUMBER = r"([0-9]+(?:_[0-9]+)*|[0-9]{1,3}(?:,[0-9]{3})+)([kKM]?)"
_UNITS = {"": 1, "k": 1_000, "K": 1_000, "M": 1_000_000}
_MAX_PID_DIGITS = 10
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})


class Kind:
    """What a setting may hold.

    Attributes:
        what: the same in words.
        read: takes the name to complain about, and the text of the value.
        types: what it may be in a TOML file.
    """

    def __init__(
        self,
        what: str,
        read: Callable[[str, str], Any],
        types: tuple[type, ...] = (str,),
    ) -> None:
        self.what = what
        self.read = read
        self.types = types


class Setting(NamedTuple):
    """Everything known about a setting but its name.

    Attributes:
        variable: its environment variable; empty where none may say it.
        kind: what it may hold.
        meaning: one line for people.
        readers: who reads it.
        default: what it is if nobody says anything.
        unit: what a number counts.
        usual: the default in words, where the value says less.
        only_variable: why no file can hold it; empty if one can.
        is_secret: its value is never shown.
    """

    variable: str
    kind: Kind
    meaning: str
    readers: tuple[Reader, ...]
    default: Any = None
    unit: str = ""
    usual: str = ""
    only_variable: str = ""
    is_secret: bool = False

    @property
    def is_internal(self) -> bool:
        """Whether no person sets it: hostbridge or the client does, for each other."""
        return "itself sets it" in self.only_variable


def setting(
    variable: str, kind: Kind, meaning: str, *readers: Reader, **more: Any
) -> Any:
    """A field of `Settings`."""
    return Setting(variable, kind, meaning, readers, **more)


def count(least: int) -> Kind:
    """A whole number that is not below `least`; also as `5M`, `500k` or `5_000_000`."""
    what = f"a whole number from {least} to {MOST:,}"

    def read(name: str, value: str) -> int:
        # Thousands of digits are no number of ours, and slow to read.
        found = len(value) <= _MAX_QUOTED and re.fullmatch(_NUMBER, value.strip())
        number = int(re.sub("[_,]", "", found[1])) * _UNITS[found[2]] if found else -1
        if not least <= number <= MOST:
            raise BadSetting(f"{name}={_short(value)}: expected {what}")
        return number

    return Kind(what, read, (int,))


def one_of(*words: str) -> Kind:
    """One of these words."""
    what = " or ".join(f"`{word}`" for word in words)

    def read(name: str, value: str) -> str:
        wanted = value.strip().lower()
        if wanted not in words:
            raise BadSetting(f"{name}={_short(value)}: expected {what}")
        return wanted

    return Kind(what, read)


def number_text(number: int) -> str:
    """A number for people to read and to type: `20M`, where nothing is lost."""
    is_round = number >= _UNITS["M"] and number % 100_000 == 0
    return f"{number / _UNITS['M']:g}M" if is_round else str(number)


def _read_fallback(name: str, value: str) -> OwnRoute | None:
    wanted = value.strip().lower()
    if wanted in _FALSE:
        return None
    if wanted in _TRUE:
        return "local"
    for route in OWN:
        if wanted == route:
            return route
    raise BadSetting(f"{name}={_short(value)}: expected {FALLBACK.what}")


def _read_folder(name: str, value: str) -> Path:
    if not value.startswith("/"):
        raise BadSetting(f"{name}={_short(value)}: expected {FOLDER.what}")
    return Path(value)


def _read_file(_name: str, value: str) -> Path:
    """A path relative to the working folder, or to the home with a `~`."""
    return Path(os.path.abspath(os.path.expanduser(value)))


def _read_flag(name: str, value: str) -> bool:
    wanted = value.strip().lower()
    if wanted in _TRUE | _FALSE:
        return wanted in _TRUE
    raise BadSetting(f"{name}={_short(value)}: expected {FLAG.what}")


def _read_program(_name: str, value: str) -> str:
    """A name to look for on `PATH`, or a path, as `_read_file` reads it."""
    return str(_read_file(_name, value)) if "/" in value else value


def _read_address(name: str, value: str) -> str:
    is_one_word = value.isprintable() and " " not in value
    if not is_one_word or not value.startswith(("http://", "https://")):
        # Also what is no address may hold a password.
        shown = _short(value.rpartition("@")[2])
        raise BadSetting(f"{name}={shown}: expected {ADDRESS.what}")
    return value


def _read_queue(name: str, value: str) -> str:
    if not value.isprintable() or re.search(r"//[^/@]*:[^/@]*@", value):
        raise BadSetting(f"{name}: it holds a password; expected {QUEUE.what}")
    if not value.startswith(("redis://", "rediss://", "unix://")):
        raise BadSetting(f"{name}={_short(value)}: expected {QUEUE.what}")
    return value


def without_passwords(text: str) -> str:
    """A text for people: the names and passwords in its addresses are left out."""
    return re.sub(r"//\S*@", "//…@", text)


def _short(value: str) -> str:
    return repr(value if len(value) <= _MAX_QUOTED else value[:_MAX_QUOTED] + "…")


FALLBACK = Kind(f"{', '.join(OWN)}, 1 (local) or 0", _read_fallback, (str, bool))
FOLDER = Kind("an absolute path", _read_folder)
FILE = Kind("a path", _read_file)
PROGRAM = Kind("a path, or a name on `PATH`", _read_program)
FLAG = Kind("1 or 0", _read_flag, (bool,))
ADDRESS = Kind("http:// or https://", _read_address)
QUEUE = Kind("redis://HOST/0?name=NAME, without a password", _read_queue)
TEXT = Kind("text", lambda _name, value: value)


def _read_pid(_name: str, value: str) -> int | None:
    """The client's pid; nonsense is ignored, since the user does not set it."""
    is_number = value.isascii() and value.isdigit() and len(value) <= _MAX_PID_DIGITS
    return int(value) if is_number else None


PID = Kind("a pid", _read_pid)
SIGN = Kind("anything", lambda _name, _value: True)
PLACE = Kind("a path", lambda _name, value: Path(value))
