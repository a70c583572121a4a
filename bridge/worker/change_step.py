"""Read the change of a run, and choose who is to look at it.

    {base, marks}                                    before the work has begun
    {context, isEmpty, …, complexity, validators}    what validators are to look at
      asked                                          those of them that are asked
      joined                                         who of those for whom else, too
    {isSame, written}                                whether it still is, afterwards,
                                                     and which files are others

What is staged, and is not what lies in the project, is checked out for validators: they
look at that folder, and run commands there (`folder`, `holds`). It is removed once it
is known whether it still is what is staged.

What was not committed before the work began, and has not been touched since, is none of
the work's: `marks` has for each such file what changes with every writing. By them it
is told, too, whether anything was written while validators looked, or since then.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.change.change import change_of
from bridge.change.collect import read_change
from bridge.change.project_files import stat_at
from bridge.change.scope import MAX_PATHS, Scope, scope_of
from bridge.errors import InvalidRequest
from bridge.flow.filling import as_text
from bridge.process.run import Stopped
from bridge.store.location import check_folder
from bridge.validation.complexity import Assessment, Complexity, assess, usual_for
from bridge.validation.look import why_not_run
from bridge.validation.words import look_words
from bridge.worktrees import WorktreeRefused, folder_of
from bridge.worktrees.checkouts import check_out, drop, state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.change.change import Change, ChangedFile
    from bridge.engine.asks import Texts
    from bridge.engine.results import StepResult
    from bridge.flow.details import ChangeCall, ValidatorPart
    from bridge.store.location import Place
    from bridge.validation.together import Together
    from bridge.worktrees.checkouts import Checkout

    _Read = Callable[..., Change]

# Nobody waits for a prompt meanwhile: a large project has its time.
_READ_S = 60.0
_BOTH = "Had changes before the work began, which are in the diff, too: "  # the paths
_FIRST = "Left out, the first commit of all: it was made meanwhile"
_MAX_NAMED = 20
# Of a checkout of what is staged, in the worktrees of a run.
_NAME = "staged"
_MARGIN_S = 600.0
_STAGED = "what is staged"
_OTHER = (
    "files were written while validators looked or it was committed: what is on the "
    "branch may be something else than what was approved"
)
# It parses files, and has to be told which.
_SYNTAX = "validator-syntax"


def read_for_run(
    place: Place, texts: Texts, call: ChangeCall, should_stop: Callable[[], bool]
) -> StepResult:
    """Read it; the result of the step.

    Raises:
        Stopped: `should_stop` said so.
        InvalidRequest: what is asked for is not there, or nothing can be built here.
        ConditionError: a template cannot be decided.
    """
    folder = _folder(place, texts, call)
    read = partial(read_change, timeout_s=_READ_S, should_stop=should_stop)
    if "validators" not in call and "seen" not in call:
        return _ok(_before(folder, read))
    seen = texts.answers.evaluated(call["seen"]) if "seen" in call else {}
    if seen.get("folder"):
        return _ok(_still_staged(folder, seen, read, should_stop))
    both: list[str] = []
    if "since" in call:
        start = texts.answers.evaluated(call["since"])
        change, both = _since(folder, start, read)
        if start["base"] is None and change.base is not None:
            notes = (*change.notes, _FIRST)
            change = replace(
                change, notes=notes, is_whole=False, is_rest_in_files=False
            )
    else:
        change = read(folder, scope_of(call["scope"]))
    apart: Checkout | None = None
    why = ""
    if not seen and _is_elsewhere(change):
        try:
            apart_in = folder_of(place.state, texts.run["run"], _NAME)
            apart, change = _apart(folder, apart_in, change, call, read, should_stop)
        except WorktreeRefused as exc:
            why = str(exc)
    looked_at = folder if apart is None else apart.folder
    marks = _marks(looked_at, change) if change.is_in_files else {}
    if not seen:
        chosen = _chosen(change, both, call, why)
        folders = [str(each) for each in (looked_at, folder, place.project)]
        return _ok({**chosen, "marks": marks, **_told(apart), "folders": folders})
    is_same = _is_same(seen, change, marks)
    if not call.get("committed"):
        written = [] if is_same else _written(seen, change, marks)
        return _ok({"isSame": is_same, "written": written})
    # What came and went meanwhile is in the commit, and not in the files.
    if is_same and read(folder).is_empty:
        return _ok({"isSame": True})
    return {"how": "failed", "why": _OTHER, "output": None}


def _is_elsewhere(change: Change) -> bool:
    """Whether what is staged is not what lies in the project."""
    is_staged = change.scope.kind == "staged"
    return is_staged and bool(change.files) and not change.is_in_files


def _apart(
    folder: Path,
    apart_in: Path,
    change: Change,
    call: ChangeCall,
    read: _Read,
    should_stop: Callable[[], bool],
) -> tuple[Checkout, Change]:
    """A checkout of what is staged, and the change as it is there.

    Raises:
        WorktreeRefused: there can be none.
    """
    # All are asked at once, or one for several: later nobody is at work there.
    most_s = sum(each["timeoutS"] for each in call["validators"].values())
    until_ms = int((time.time() + most_s + _MARGIN_S) * 1000)
    apart = check_out(
        folder,
        apart_in,
        index=change.scope.index,
        until_ms=until_ms,
        should_stop=should_stop,
    )
    scope = replace(change.scope, index=None)
    found = read(apart.folder, scope)
    return apart, replace(found, scope=change.scope)


def _told(apart: Checkout | None) -> dict[str, Any]:
    if apart is None:
        return {"folder": ""}
    folder, filtered = str(apart.folder), list(apart.filtered)
    return {"folder": folder, "holds": apart.holds, "filtered": filtered}


def _still_staged(
    project: Path, seen: dict[str, Any], read: _Read, should_stop: Callable[[], bool]
) -> dict[str, Any]:
    """Whether a checkout is as it was made, and is what is staged; it is removed."""
    apart = Path(seen["folder"])
    before = change_of(seen["change"])
    if not apart.is_dir():
        return {"isSame": False, "written": [f"{apart}, which is gone"]}
    scope = replace(before.scope, index=None)
    found = read(apart, scope)
    change = replace(found, scope=before.scope)
    marks = _marks(apart, change) if change.is_in_files else {}
    is_same = _is_same(seen, change, marks)
    written = [] if is_same else _written(seen, change, marks)
    try:
        index = before.scope.index
        holds = state_of(project, index=index, should_stop=should_stop)
        is_staged = holds == seen["holds"]
    except WorktreeRefused:
        is_staged = False
    # What cannot be removed now is swept later.
    with suppress(WorktreeRefused, Stopped):
        drop(apart, should_stop=should_stop)
    if is_same and not is_staged:
        written = [_STAGED]
    return {"isSame": is_same and is_staged, "written": written}


def _is_same(seen: dict[str, Any], change: Change, marks: dict[str, Any]) -> bool:
    """Whether nothing was written since the change was read.

    What is beyond the files that are listed may have been written: nobody can tell.
    """
    known = change_of(seen["change"])
    return (
        (known.digest, seen["marks"]) == (change.digest, marks)
        and known.files == change.files
        and not change.more_files
    )


def _written(seen: dict[str, Any], change: Change, marks: dict[str, Any]) -> list[str]:
    """The first of the files that have changed since, as far as they are known."""
    before = {each.name.hex(): each for each in change_of(seen["change"]).files}
    after = {each.name.hex(): each for each in change.files}
    return [
        (after.get(name) or before[name]).shown
        for name in sorted(before.keys() | after.keys(), key=bytes.fromhex)
        if (before.get(name), seen["marks"].get(name))
        != (after.get(name), marks.get(name))
    ][:_MAX_NAMED]


def _ok(output: dict[str, Any]) -> StepResult:
    return {"how": "ok", "why": "", "output": output}


def _folder(place: Place, texts: Texts, call: ChangeCall) -> Path:
    if "folder" not in call:
        return Path(place.project)
    return check_folder(place, as_text(texts.answers.evaluated(call["folder"])))


def _before(folder: Path, read: _Read) -> dict[str, Any]:
    """What is not committed before the work begins."""
    change = read(folder)
    if change.base is None and not change.is_whole:
        why = " ".join(change.notes)
        raise InvalidRequest(f"what is built could not be looked at. {why}")
    return {"base": change.base, "marks": _marks(folder, change)}


def _marks(folder: Path, change: Change) -> dict[str, list[int | str]]:
    """The mark of each file, by its name in hexadecimal."""
    return {each.name.hex(): _mark(folder, each) for each in change.files}


def _mark(folder: Path, file: ChangedFile) -> list[int | str]:
    """What changes whenever a file is written, or something else is staged of it."""
    facts = stat_at(folder, file.name)
    if facts is None:
        return [file.staged]
    times = facts.st_mtime_ns, facts.st_ctime_ns
    return [file.staged, facts.st_ino, facts.st_size, *times]


def _since(
    folder: Path, start: dict[str, Any], read: _Read
) -> tuple[Change, list[str]]:
    """What has changed since the work began, and which files were changed before."""
    scope = Scope(base=start["base"] or "HEAD")
    change = read(folder, scope)
    marks = start["marks"]
    now = _marks(folder, change)
    same = {name for name in now if name in marks and marks[name] == now[name]}
    touched = [each for each in change.files if each.name.hex() not in same]
    both = [each.shown for each in touched if each.name.hex() in marks]
    if not same or len(touched) > MAX_PATHS or change.more_files:
        return change, both
    if not touched:
        return replace(change, diff="", notes=(), files=(), is_whole=True), []
    names = tuple(os.fsdecode(each.name) for each in touched)
    found = read(folder, replace(scope, paths=names))
    # What is kept is JSON, which has no name that is not UTF-8.
    shown = tuple(each.path for each in touched)
    return replace(found, scope=replace(found.scope, paths=shown)), both


def _chosen(
    change: Change, both: list[str], call: ChangeCall, why: str
) -> dict[str, Any]:
    """The change as agents and the verdict see it, and who is to look at it.

    `why` is why it could not be checked out, if that was to be.
    """
    assessed = assess(change)
    complexity = Complexity(call.get("complexity") or assessed.complexity)
    known = call["validators"]
    fitting = usual_for(complexity) if "complexity" in call else assessed.validators
    fitting = tuple(n for n in fitting if n != _SYNTAX or assessed.parsable)
    names = [*known] if call.get("named") else [n for n in fitting if n in known]
    # Nobody can judge what could not be read at all.
    names = names if change.files else []
    unable = {
        name: why_not_run(change, why)
        for name in names
        if known[name]["runsCommands"] and not change.is_in_files
    }
    context = change.as_context()
    if both:
        more = f" and {len(both) - _MAX_NAMED} more" if len(both) > _MAX_NAMED else ""
        note = f"{_BOTH}{', '.join(both[:_MAX_NAMED])}{more}"
        context = {**context, "change": f"{note}\n{context['change']}"}
    able = [n for n in names if n not in unable]
    prompts = {name: _prompt([name], assessed, call["intent"]) for name in names}
    joined: dict[str, Any] = {}
    followers: set[str] = set()
    for one in _together(able, assessed, call):
        prompts[one.agent] = one.prompt
        followers |= {*one.validators[1:]}
        joined[one.agent] = {
            "validators": list(one.validators),
            "schema": one.schema,
            "model": one.model,
            "timeout_s": sum(known[name]["timeoutS"] for name in one.validators),
        }
    return {
        "change": asdict(change),
        "context": context,
        "complexity": complexity if change.files else None,
        # A validator that was chosen and cannot judge this approves nothing.
        "validators": able,
        "asked": [n for n in able if n not in followers],
        "joined": joined,
        "unable": unable,
        "prompts": prompts,
    }


def _together(
    names: list[str], assessed: Assessment, call: ChangeCall
) -> Iterator[Together]:
    """The requests for several of these validators."""
    from bridge.validation.together import together

    known = call["validators"]
    groups: dict[int, dict[str, ValidatorPart]] = {}
    for name in names:
        if "part" in known[name]:
            part = known[name]["part"]
            groups.setdefault(part["group"], {})[name] = part
    for parts in groups.values():
        if len(parts) > 1:
            yield together(parts, _prompt([*parts], assessed, call["intent"]))


def _prompt(validators: list[str], assessed: Assessment, intent: str) -> str:
    """What validators are asked, beside the change itself."""
    is_about_files = _SYNTAX in validators and assessed.parsable
    files = "\n".join(assessed.parsable) if is_about_files else ""
    return look_words(intent, files)
