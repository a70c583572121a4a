"""What a pipeline does with its worktrees: `bridge.worktrees`, for steps.

Those of a run lie in `worktrees/<run>/NAME` of the state, on the branch
`hostbridge/<run>/NAME`; a pipeline that another called has those of that one.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge import worktrees
from bridge.errors import InvalidRequest
from bridge.flow.filling import as_text
from bridge.protocol.wording import quoted
from bridge.worktrees.own_process import in_own_process

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.engine.asks import Texts
    from bridge.engine.results import StepResult
    from bridge.flow.details import WorktreeCall
    from bridge.store.location import Place
    from bridge.worktrees import Worktree

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def do_worktree(
    place: Place, texts: Texts, call: WorktreeCall, should_stop: Callable[[], bool]
) -> StepResult:
    """Do it, and say what it came to; done before, it comes to the same.

    A conflict fails with the files as its `conflict`, and what was to be merged as its
    `change`: that is work for an agent; what is refused is not.

    Raises:
        Stopped: `should_stop` said so.
        WorktreeRefused: it cannot be done, or an argument is not what it may be;
            nothing is lost.
        ConditionError: an argument cannot be decided.
    """
    done = in_own_process(
        do_action,
        should_stop=should_stop,
        action=call["action"],
        project=str(place.project),
        state=str(place.state),
        run=texts.run["root"],
        given=texts.mapping(call["arguments"]),
    )
    return {"how": done["how"], "why": done["why"], "output": done["output"]}


def do_action(
    *, action: str, project: str, state: str, run: str, given: dict[str, Any]
) -> dict[str, Any]:
    """As `do_worktree`, in the process that does it."""
    # Folders of worktrees are real paths: a home may be behind a link.
    home = _Home(Path(project), Path(os.path.realpath(state)), run)
    found = _ACTIONS[action](home, given)
    if isinstance(found, worktrees.Conflict):
        output = {"conflict": list(found.files), "change": found.change}
        return {"how": "failed", "why": str(found), "output": output}
    return {"how": "ok", "why": "", "output": found}


class _Home(NamedTuple):
    """Whose worktrees: those of a run, in the state of a project."""

    project: Path
    state: Path
    run: str


def _branch(home: _Home, _given: dict[str, Any]) -> dict[str, Any]:
    return {"branch": worktrees.current_branch(home.project)}


def _create(home: _Home, given: dict[str, Any]) -> dict[str, Any]:
    # `#7` is a task's id.
    name = as_text(given.get("name")).lstrip("#")
    if not _NAME.fullmatch(name):
        raise InvalidRequest(
            "the name of a worktree must have letters, digits, `.`, `_`, `-` only, got "
            f"{quoted(name)}"
        )
    made = worktrees.create(
        home.project,
        f"hostbridge/{home.run}/{name}",
        worktrees.folder_of(home.state, home.run, name),
        base=as_text(given.get("base")) or "HEAD",
    )
    return {"folder": str(made.folder), "branch": made.branch, "base": made.base}


def _status(home: _Home, given: dict[str, Any]) -> dict[str, Any]:
    stands = worktrees.status(_found(home, given))
    files = list(stands.changed)
    return {"changed": bool(files) or stands.differs, "files": files}


def _commit(home: _Home, given: dict[str, Any]) -> dict[str, Any]:
    message = as_text(given.get("message")) or "Work of a pipeline"
    return {"commit": worktrees.commit(_found(home, given), message)}


def _merge(home: _Home, given: dict[str, Any]) -> dict[str, Any] | worktrees.Conflict:
    worktree = _found(home, given)
    into = as_text(given.get("into")) or worktree.base
    if not worktrees.status(worktree).differs:
        return {"commit": None, "how": "nothing", "into": into}
    done = worktrees.merge(
        worktree.project,
        worktree.branch,
        into or worktrees.current_branch(worktree.project),
        message=as_text(given.get("message")) or None,
    )
    if isinstance(done, worktrees.Conflict):
        return done
    return {"commit": done.commit, "how": done.how, "into": into}


def _remove(home: _Home, given: dict[str, Any]) -> dict[str, Any]:
    folder = _folder(home, given)
    found = _known(home, folder)
    if found is not None:
        worktrees.remove(found, discard=given.get("discard") is True)
    return {"folder": str(folder)}


def _found(home: _Home, given: dict[str, Any]) -> Worktree:
    folder = _folder(home, given)
    found = _known(home, folder)
    if found is None:
        raise worktrees.WorktreeGone(f"{folder}: there is no worktree of this run")
    return found


def _known(home: _Home, folder: Path) -> Worktree | None:
    """The worktree that a record names, which an agent beside it may have changed."""
    found = worktrees.find(folder)
    wanted = f"hostbridge/{home.run}/{folder.name}"
    project = Path(os.path.realpath(home.project))
    if found is not None and (found.project, found.branch) != (project, wanted):
        raise worktrees.WorktreeRefused(
            f"{folder}.json is not as this run has written it",
            ways=("look at the worktree, and remove it with git",),
        )
    return found


def _folder(home: _Home, given: dict[str, Any]) -> Path:
    """The folder that is meant: a path, or the name that it was made by."""
    above = home.state / "worktrees" / home.run
    said = as_text(given.get("worktree")).lstrip("#")
    folder = Path(os.path.normpath(above / said))
    if not said or folder.parent != above:
        raise InvalidRequest(
            f"`worktree` must be the folder of a worktree of this run, got {said!r}"
        )
    return folder


_ACTIONS: Mapping[
    str,
    Callable[[_Home, dict[str, Any]], dict[str, Any] | worktrees.Conflict],
] = {
    "branch": _branch,
    "create": _create,
    "status": _status,
    "commit": _commit,
    "merge": _merge,
    "remove": _remove,
}
