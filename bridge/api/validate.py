"""Have validators look at a change: a run, and what it came to.

The run reads the change, chooses who looks at it, and asks them side by side
(`bridge.validation.plans`). Whatever keeps it from its end, the answer is a
`Validation`; only what is wrong before anybody is asked raises.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agents.known_agents import Agents
from bridge.api.options import checked
from bridge.api.validators import digests_of, find_validators
from bridge.change.git_folder import no_repository
from bridge.change.scope import Scope, parse_scope
from bridge.config import git_of_caller
from bridge.errors import InvalidRequest
from bridge.protocol.type_checks import check
from bridge.protocol.wording import quoted
from bridge.validation.complexity import Complexity, usual_for
from bridge.validation.escalation import ESCALATE_TO
from bridge.validation.look import Look, Work
from bridge.validation.plans import build_plan, validate_plan
from bridge.worktrees.checkouts import sweep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.api.run_flow import Runner
    from bridge.api.run_options import BuildOptions, ValidateOptions
    from bridge.validation.report import Validation

BUILDER = "developer"
ROUNDS = 3


def begin_validation(
    runner: Runner, scope: Any, options: ValidateOptions
) -> tuple[str, dict[str, Any]]:
    """Write the run that has a change looked at; its id, and the options as checked.

    Raises:
        BridgeError: nothing was asked.
    """
    given = checked("validate", options)
    # Of runs that were killed, or cancelled.
    sweep(runner.store)
    of = _scope(runner, scope, given.get("staged", False))
    _refuse_without_repository(runner.store.place.project, of)
    look = _look(runner, given, given.get("intent", ""), given.get("timeout_s"))
    plan = validate_plan(look, asdict(of))
    # Its time is that of each validator: one that has not answered by then is no reason
    # to forget what the others have said.
    return runner.begin_plan(plan, _of_run(given, "timeout_s")), given


def find_nothing(
    runner: Runner, scope: Any, options: ValidateOptions
) -> Validation | None:
    """The verdict on a change that is empty, which needs nobody; None on any other.

    Raises:
        InvalidRequest: it is no scope.
    """
    from bridge.change.collect import read_change
    from bridge.validation.aggregate import validation_of

    of = _scope(runner, scope, checked("validate", options).get("staged", False))
    change = read_change(runner.store.place.project, of)
    return validation_of(change, ()) if change.is_empty else None


def begin_build(
    runner: Runner, task: str, options: BuildOptions
) -> tuple[str, dict[str, Any]]:
    """Write the run that builds something; its id, and the options as checked.

    Raises:
        BridgeError: nothing was asked.
    """
    given = checked("build", options)
    check(prompt=task)
    if not task.strip():
        raise InvalidRequest("build: say what is to be built")
    builder = given.get("agent", BUILDER)
    agents = Agents.open(runner.settings, runner.store.place.project)
    work = Work(
        task,
        builder,
        given.get("rounds", ROUNDS),
        _one_of("escalate_to", given.get("escalate_to", "human"), ESCALATE_TO),
        in_worktree=given.get("in_worktree", False),
        model=given.get("model"),
        digests=digests_of(agents, builder),
    )
    look = _look(runner, given, task, given.get("step_timeout_s"))
    return runner.begin_plan(build_plan(look, work), _of_run(given)), given


def _of_run(given: Mapping[str, Any], *but: str) -> dict[str, Any]:
    """The options that are those of any run."""
    from bridge.api.run_options import RunOptions

    known = RunOptions.__optional_keys__ - {*but}
    return {name: value for name, value in given.items() if name in known}


def _scope(runner: Runner, scope: Any, staged: bool) -> Scope:  # noqa: FBT001 - private
    if isinstance(scope, Scope):
        if staged:
            raise InvalidRequest(
                "validate: `staged` is part of the scope; leave it out"
            )
        return scope
    words = [scope] if isinstance(scope, str) else list(scope or ())
    check(scope=words)
    project = runner.store.place.project
    here = Path.cwd().resolve()
    folder = here if project in (here, *here.parents) else project
    found = parse_scope(words, staged=staged, project=str(project), folder=str(folder))
    return of_caller(found, project, here)


def of_caller(scope: Scope, project: Path, here: Path) -> Scope:
    """The scope with the index and the git folder that the caller's git has named."""
    caller = git_of_caller()
    if project not in (here, *here.parents):
        return scope
    # With `git commit -a` and `git commit PATH`, what is staged is not in the index.
    if scope.kind == "staged" and caller.index_file is not None:
        scope = replace(scope, index=os.path.abspath(caller.index_file))
    # One that belongs to another folder is left over from there.
    is_here = os.path.realpath(caller.tree or here) == os.path.realpath(project)
    if caller.folder is not None and is_here:
        scope = replace(scope, git_dir=os.path.abspath(caller.folder))
    return scope


def _refuse_without_repository(project: Path, scope: Scope) -> None:
    """Refuse what only a repository could tell; files are looked at without one.

    Raises:
        InvalidRequest: there is none; says what can be done.
    """
    if scope.git_dir is not None or os.path.lexists(project / ".git"):
        return
    named = scope.paths and scope.kind in ("uncommitted", "files")
    is_there = scope.undecided is None or os.path.lexists(project / scope.paths[0])
    if not named or scope.base != "HEAD" or not is_there:
        none = no_repository(project)
        raise InvalidRequest(
            f"{none}, so nothing tells what has changed",
            ways=(*none.ways, "name files: hostbridge validate PATH"),
        )


def _look(
    runner: Runner, given: Mapping[str, Any], intent: str, timeout_s: float | None
) -> Look:
    named = given.get("validators")
    complexity = given.get("complexity")
    if complexity is not None:
        complexity = _one_of("complexity", complexity, [*map(str, Complexity)])
    usual = usual_for(Complexity(complexity or Complexity.HIGH))
    found = find_validators(
        runner.settings,
        runner.store.place.project,
        usual if named is None else [named] if isinstance(named, str) else named,
        timeout_s=timeout_s,
        together=given.get("together", False),
    )
    return Look(
        found,
        intent,
        named=named is not None,
        complexity=complexity,
        accept_degraded=given.get("accept_degraded", False),
    )


def _one_of(name: str, value: Any, known: Sequence[Any]) -> Any:
    if value not in known:
        *others, last = map(str, known)
        raise InvalidRequest(
            f"{name} {quoted(value)}: expected {', '.join(others)} or {last}"
        )
    return value
