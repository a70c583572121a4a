"""`config.toml`: settings that last, for every project of a user, or for one.

    <home>/config.toml           the user's
    <project state>/config.toml  one project's, which wins

Where there is none, nothing is imported. A file with an error in it counts as not there
for the hooks, which must not break a session; commands refuse it. A setting that this
hostbridge does not know, perhaps one of a newer one, is refused by commands, too; hooks
obey the others.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from bridge.config import TABLE, Settings
from bridge.errors import BadSetting, StateRefused
from bridge.protocol.wording import in_shell
from bridge.setting import PROGRAM, Setting
from bridge.store.directory import Folder, NotAPlainFile
from bridge.store.location import locate

NAME = "config.toml"
# The time that tomllib takes grows with the square of a file: here it is a second.
MAX_BYTES = 16 * 1024
_MAX_PROBLEMS = 20
_AT = r" \(at (?:line (\d+), column (\d+)|end of document)\)$"
_TYPES = {str: "text", bool: "true or false", int: "a number", dict: "a table"}


class ConfigFile(NamedTuple):
    """One `config.toml` as it was read.

    Attributes:
        path: where it is, or would be.
        text: its text; None where there is no file.
        values: its settings, by their keys.
        problems: what is wrong with it, each with its place.
        is_obeyed: nothing is wrong with it but settings that are not known here.
        is_exposed: others may read it.
    """

    path: Path
    text: str | None = None
    values: Mapping[str, Any] = MappingProxyType({})
    problems: tuple[str, ...] = ()
    is_exposed: bool = False
    is_obeyed: bool = True


def files_of(settings: Settings, state: Path) -> tuple[Path, ...]:
    """Where the files for a state directory are; the one that wins first."""
    return tuple(dict.fromkeys((state / NAME, settings.home / NAME)))


def settings_at(start: Path) -> Settings:
    """The settings of this process for the project that `start` is in.

    Raises:
        BadSetting: there is something wrong with a variable, or with a file.
    """
    settings = Settings.from_environment()
    return with_files(settings, locate(settings, start).state)


def with_files(settings: Settings, state: Path) -> Settings:
    """The settings, with what the files say where the environment says nothing.

    Raises:
        BadSetting: there is something wrong with a file.
    """
    layered, problems = in_files(settings, state)
    if problems:
        more = f" (and {len(problems) - 1} more)" if problems[1:] else ""
        raise BadSetting(problems[0] + more)
    return layered


def in_files(settings: Settings, state: Path) -> tuple[Settings, list[str]]:
    """As `with_files`, with the problems; a file that has one counts as not there."""
    problems: list[str] = []
    found: dict[str, Any] = {}
    sources = dict(settings.sources)
    for path in files_of(settings, state):
        file = read_file(path)
        problems += file.problems
        if not file.is_obeyed:
            continue
        for key, value in file.values.items():
            if key not in sources:
                found[key], sources[key] = value, str(path)
    layered = settings.with_(**found, sources=sources) if found else settings
    return layered, problems


def read_file(path: Path) -> ConfigFile:
    """Read one file; raises nothing for what is merely wrong with it."""
    try:
        with Folder.open(str(path.parent)) as folder:
            data = folder.read(NAME, MAX_BYTES)
            facts = folder.facts(NAME) if data is not None else None
    except (FileNotFoundError, StateRefused):
        # A folder that cannot be used is refused as a state directory, with a reason.
        return ConfigFile(path)
    except NotAPlainFile as exc:
        return _refused(path, f"{exc.problem}; {exc.cure}")
    except OSError as exc:
        why = os.strerror(exc.errno or 0).lower()
        return _refused(path, f"cannot be read: {why}")
    if data is None or facts is None:
        return ConfigFile(path)
    if facts.st_uid != os.geteuid():
        whose = f"belongs to user {facts.st_uid}, not to you; move it away"
        return _refused(path, whose)
    if facts.st_mode & 0o022:
        cure = f"others can write to it; run: {in_shell('chmod', '600', path)}"
        return _refused(path, cure)
    text = data.decode("utf-8", "surrogateescape")
    values, wrong, unknown = parse(text, str(path))
    is_exposed = bool(facts.st_mode & 0o044)
    problems = (*unknown, *wrong)
    return ConfigFile(path, text, values, problems, is_exposed, is_obeyed=not wrong)


def _refused(path: Path, why: str) -> ConfigFile:
    return ConfigFile(path, problems=(f"{path}: {why}",), is_obeyed=False)


def parse(text: str, name: str) -> tuple[dict[str, Any], list[str], list[str]]:
    """The settings in a text, what is wrong with it, and which are not known.

    `name` is the file's.
    """
    # Late: the import alone would make every command noticeably slower.
    import tomllib

    try:
        table = tomllib.loads(text)
        text.encode()
    except UnicodeEncodeError as exc:
        return {}, [f"{_place(name, text, exc.start)}: not UTF-8"], []
    except RecursionError:
        return {}, [f"{name}: nested too deeply"], []
    except ValueError as exc:
        return {}, [_syntax_error(name, text, str(exc))], []
    values: dict[str, Any] = {}
    wrong: list[str] = []
    unknown: list[str] = []
    for key, value in table.items():
        if len(wrong) + len(unknown) >= _MAX_PROBLEMS:
            break
        at, value_at = _places(name, text, key)
        if key not in TABLE:
            hint = suggestion(key) or "; update hostbridge, if a newer one has it"
            unknown.append(f"{at}: no setting {key!r}{hint}")
            continue
        try:
            values[key] = _value(key, value, at, value_at)
        except BadSetting as exc:
            wrong.append(str(exc))
    return values, wrong, unknown


def _value(key: str, value: Any, at: str, value_at: str) -> Any:
    about = TABLE[key]
    if about.only_variable:
        raise BadSetting(f"{at}: {refusal(key, about)}")
    if type(value) not in about.kind.types:
        kind = _TYPES.get(type(value), type(value).__name__)
        is_flag = about.kind.types == (bool,)
        expected = "true or false" if is_flag else about.kind.what
        raise BadSetting(f"{value_at}: {key}: expected {expected}; this is {kind}")
    if isinstance(value, int) and abs(value) > 2**63:
        # It may have more digits than Python turns into text.
        value = "too many digits"
    as_text = str(value).lower() if isinstance(value, bool) else str(value)
    read = about.kind.read(f"{value_at}: {key}", as_text)
    is_path = isinstance(read, Path) or (about.kind is PROGRAM and "/" in as_text)
    if is_path and not as_text.startswith(("/", "~/")):
        raise BadSetting(f"{value_at}: {key}={as_text!r}: expected / or ~/ in front")
    return read


def suggestion(name: str) -> str:
    """What an unknown key was perhaps meant to be; empty if nothing is near."""
    from difflib import get_close_matches

    plain = name.lower().removeprefix("bridge_").replace("-", "_")
    near = get_close_matches(plain, TABLE, n=2, cutoff=0.7)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def refusal(key: str, about: Setting) -> str:
    """Why a setting stands in no file, and what to do."""
    return f"{key} stands in no file: {about.only_variable} ({about.variable})"


def _syntax_error(name: str, text: str, why: str) -> str:
    at = re.search(_AT, why)
    if at is None:
        return f"{name}: not TOML: {why.partition(';')[0]}"
    line = at[1] or text.count("\n") + 1
    column = at[2] or len(text) - text.rfind("\n")
    words = why[: at.start()]
    return f"{name}:{line}:{column}: not TOML: {words[:1].lower()}{words[1:]}"


def _places(name: str, text: str, key: str) -> Iterator[str]:
    """Where a key stands, and its value."""
    word = rf"([\"']?){re.escape(key)}\2"
    found = re.search(rf"^[ \t]*\[*[ \t]*({word})[ \t]*[=.\]]+[ \t]*", text, re.M)
    yield _place(name, text, found.start(1)) if found else name
    yield _place(name, text, found.end()) if found else name


def _place(name: str, text: str, offset: int) -> str:
    line = text.count("\n", 0, offset) + 1
    return f"{name}:{line}:{offset - text.rfind(chr(10), 0, offset)}"
