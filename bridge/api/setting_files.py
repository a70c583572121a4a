"""The settings of this process: where each comes from, and changing what lasts.

`config.toml` is written whole or not at all, with its comments and its order kept, and
under a lock: of two changes at once none is lost.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bridge.bound.session_above import only_by_hand
from bridge.config import DEFAULTS, TABLE, Settings
from bridge.errors import BadSetting, BridgeError
from bridge.setting import ADDRESS, without_passwords
from bridge.store import wakeups
from bridge.store.config_file import (
    MAX_BYTES,
    NAME,
    ConfigFile,
    files_of,
    in_files,
    read_file,
    refusal,
    suggestion,
)
from bridge.store.location import Place, locate, open_state
from bridge.store.lock import locked
from bridge.store.pins import Pins
from bridge.store.sessions import live_sessions
from bridge.store.store import Store

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

Scope = Literal["user", "project"]
_LOCK_WAIT_S = 10.0
_HIDDEN = "…"


@dataclass(frozen=True, slots=True)
class Listed:
    """One setting as it holds here.

    Attributes:
        key, variable: its names.
        value: what holds; a secret is hidden.
        source: default, user file, project file, or the name of the variable.
        meaning: one line for people.
        usual: the default, in words where it is nothing.
    """

    key: str
    variable: str
    value: str | int | bool | None
    source: str
    meaning: str
    usual: str


class SettingFiles:
    """The two files of settings that count in one folder."""

    def __init__(self, start: Path) -> None:
        given = Settings.from_environment()
        self.place = locate(given, start)
        self.settings, self.problems = in_files(given, self.place.state)
        project, *user = files_of(given, self.place.state)
        # With BRIDGE_STATE_DIR set to the home itself, there is one file.
        self.paths: dict[Scope, Path] = {
            "user": user[0] if user else project,
            "project": project,
        }

    def files(self) -> Iterator[ConfigFile]:
        """Both files as they are now; the one that wins first."""
        yield from map(read_file, dict.fromkeys(reversed(self.paths.values())))

    def listed(self) -> list[Listed]:
        """Every setting that a person may set."""
        names = {str(path): f"{scope} file" for scope, path in self.paths.items()}
        return [
            Listed(
                key,
                about.variable,
                _shown(key, getattr(self.settings, key)),
                names.get(source := self.settings.sources.get(key, "default"), source),
                about.meaning,
                about.usual or _in_words(DEFAULTS[key]),
            )
            for key, about in TABLE.items()
            if not about.is_internal
        ]

    def find(self, name: str) -> Listed:
        """One setting, by its key or its variable.

        Raises:
            BadSetting: there is none.
        """
        key = key_of(name)
        found = next((each for each in self.listed() if each.key == key), None)
        return found or _unknown(name)

    def change(
        self, name: str, text: str | None, scope: Scope | None = None
    ) -> tuple[str, Path]:
        """Set a setting, or unset it (`text` is None); returns its key and the file.

        Without a scope it is the project's file if that has the setting, or else the
        user's. What a file should not hold can be unset, too.

        Raises:
            BadSetting: there is no such setting, no file can hold it, the value means
                nothing, or the file is broken. Nothing was changed.
            InsideSession: a session's model could be behind this.
        """
        in_files = [_top_level(file.text or "") for file in self.files()]
        is_misspelt = text is None and any(name in table for table in in_files)
        key = name if is_misspelt else key_of(name)
        value = None if text is None else _value(key, text)
        # Where sessions of this user are open, and here.
        places = dict.fromkeys((self.place, *Pins.of(self.settings).places()))
        words = f"unset {key}" if text is None else f"set {key} {_shown(key, text)}"
        only_by_hand(self.settings, Store(self.place), f"hostbridge config {words}")
        if scope is None:
            scope = "project" if key in in_files[0] else "user"
        home = self.paths["user"].parent
        place = self.place if scope == "project" else Place(home, home, home, "")

        def changed(document: TOMLDocument) -> None:
            if value is not None:
                document[key] = value
            elif document.pop(key, None) is None:
                raise BadSetting(f"{self.paths[scope]}: {key} is not set there")

        _rewrite(place, changed, key, value)
        for each in places:
            _wake(each)
        return key, self.paths[scope]


def key_of(name: str) -> str:
    """The key of a setting, given by its key or its variable.

    Raises:
        BadSetting: there is no such setting.
    """
    key = name.lower().replace("-", "_")
    for known, about in TABLE.items():
        if known == key or (name and about.variable == name):
            return known
    return _unknown(name).key


def _unknown(name: str) -> Listed:
    more = suggestion(name) or "; `hostbridge config` lists them"
    raise BadSetting(f"no setting {name!r}{more}")


def _value(key: str, text: str) -> str | int | bool:
    """What a file shall hold.

    Raises:
        BadSetting: no file can hold it, or it means nothing.
    """
    about = TABLE[key]
    if about.only_variable:
        raise BadSetting(refusal(key, about))
    value = about.kind.read(key, text)
    if value is None:
        return False
    return str(value) if isinstance(value, Path) else value


def _shown(key: str, value: Any) -> str | int | bool | None:
    if TABLE[key].is_secret and value != DEFAULTS[key]:
        return _HIDDEN
    if TABLE[key].kind is ADDRESS and value is not None:
        return without_passwords(value)
    return str(value) if isinstance(value, Path) else value


def _in_words(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value or "none")


def _top_level(text: str) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        return tomllib.loads(text)
    return {}


def _rewrite(
    place: Place, change: Callable[[TOMLDocument], None], key: str, value: Any
) -> None:
    """Change one file, under a lock.

    Raises:
        BadSetting: it is no TOML, or no plain file; it was left as it is.
    """
    import tomlkit

    with open_state(place) as folder, locked(folder, wait_s=_LOCK_WAIT_S):
        file = read_file(Path(folder.path, NAME))
        problem = next(iter(file.problems), "")
        if problem and file.text is None:
            raise BadSetting(problem)
        text = file.text or ""
        try:
            text.encode()
            document, before = tomlkit.parse(text), tomllib.loads(text)
        except (ValueError, RecursionError) as exc:
            why = problem or f"{file.path}: {exc}"
            raise BadSetting(f"{why}; correct it first") from None
        change(document)
        after = tomlkit.dumps(document)
        wanted = before | {key: value} if value is not None else before
        if value is None:
            wanted.pop(key, None)
        # Nothing but this setting may change, however the file is written.
        if tomllib.loads(after) != wanted or len(after.encode()) > MAX_BYTES:
            raise BadSetting(f"{file.path}: {key} cannot be written; edit it yourself")
        folder.replace(NAME, after.encode())


def _wake(place: Place) -> None:
    """Have sessions look again: they write down their limits, and take what waits."""
    with suppress(BridgeError, OSError):
        store = Store(place)
        if store.exists():
            wakeups.wake(store, live_sessions(store))
