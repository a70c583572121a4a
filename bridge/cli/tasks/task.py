"""The tasks of this project: what is to be done, what comes first, who does it.

A task is named by its number: 42, or '#42' in quotes. `list` leaves out what is closed;
`ready` shows what can be begun: open, nothing that it waits for, no child that is not
closed. `claim` takes one, or the first that is ready: it is yours while this shell
runs, or with --keep until you let it go. A task with children is closed after them.
`validate` has an agent look whether one is done, and waits for what it says.
`export` prints all of them as JSON lines, which `import` merges into another project.

For example:
  hostbridge task create "Refuse uploads over 10 MB"
  hostbridge task ready
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, cast

from bridge.api.bridge import Bridge
from bridge.api.task_holder import person_here
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.inputs import read_words
from bridge.cli.common.interrupts import Interrupts
from bridge.cli.common.options import option, switch
from bridge.cli.common.output import complain, prose, say, say_json, tell
from bridge.cli.common.progress import ProgressLine
from bridge.cli.common.verbs import Verbs, given_in, option_of
from bridge.cli.screen.screen import screen_of
from bridge.cli.tasks.task_exchange import export, import_
from bridge.cli.tasks.task_text import (
    line_of,
    task_lines,
    task_table,
    tree_lines,
    tree_value,
)
from bridge.errors import InvalidRequest
from bridge.operation import arguments_of, keys_of
from bridge.tasks.task import FilterOptions, Task, TaskContent
from bridge.tasks.task_data import json_form
from bridge.tasks.tasks import Tasks

_OPEN = ("open", "in_progress", "needs_review", "escalated")
_FILTERS = (*keys_of(FilterOptions),)
_OF_READY = tuple(each for each in _FILTERS if each.name not in ("status", "assignee"))
_CONTENT = (*keys_of(TaskContent),)


_NAMED: dict[str, Any] = {"metavar": "TASK", "completes": "tasks"}
_TASK = option("task", **_NAMED, help="Which task.")
_TASKS = option("tasks", **_NAMED, nargs="+", help="Which tasks.")
_ON = option("--on", **_NAMED, action="append", help="It waits until this is closed.")
VERBS = Verbs()


def _open() -> Tasks:
    bridge = Bridge.open()
    return Tasks(bridge.store, person_here(bridge.store, bridge.settings))


@VERBS.add(*map(option_of, _FILTERS), switch("--all", help="Also what is closed."))
def _list(options: Namespace) -> int:
    """List what is not closed, or what fits; the default."""
    which = given_in(options, _FILTERS)
    if not options.all:
        which = {"status": _OPEN, **which}
    nothing = 'no such task is here; hostbridge task create "…" adds one'
    return _look(options, _open().list(**cast("FilterOptions", which)), nothing)


@VERBS.add(option("task", **_NAMED, nargs="?", help="Where to begin."))
def _tree(options: Namespace) -> int:
    """Show a task and all below it, or all tasks."""
    branches = _open().tree(options.task)
    if options.as_json:
        for value in tree_value(branches):
            say_json(value)
    else:
        lines = tree_lines(branches, screen_of(sys.stdout).width)
        say(*(lines or ["no task is here yet"]))
    return Exit.OK


@VERBS.add(*map(option_of, _OF_READY))
def _ready(options: Namespace) -> int:
    """List what can be begun, the most urgent first."""
    which = cast("FilterOptions", given_in(options, _OF_READY))
    nothing = "nothing is ready; see what is there: hostbridge task"
    return _look(options, _open().ready(**which), nothing)


def _look(options: Namespace, found: list[Task], nothing: str) -> int:
    if options.as_json:
        for task in found:
            say_json(json_form(task))
    elif found:
        say(*task_table(found, screen_of(sys.stdout).width))
    else:
        tell(nothing)
    return Exit.OK


@VERBS.add(_TASK)
def _show(options: Namespace) -> int:
    """Show all of one task."""
    tasks = _open()
    task = tasks.get(options.task)
    holder = tasks.holder_of(task.number)
    if options.as_json:
        say_json(json_form(task))
    else:
        width, now_ms = screen_of(sys.stdout).width, tasks.store.now_ms()
        say(*task_lines(task, holder, now_ms, width))
    return Exit.OK


def _tell(options: Namespace, changed: Iterable[Task]) -> int:
    """Tell of each task that was changed, before the next one is."""
    is_any = False
    for task in changed:
        is_any = True
        if options.as_json:
            say_json(json_form(task))
        elif options.verb == "create":
            say(task.ref)
        else:
            is_gone = options.verb == "delete"
            say(f"{'deleted: ' if is_gone else ''}{line_of(task)}")
    return Exit.OK if is_any else Exit.FAILED


def _fields(options: Namespace) -> dict[str, Any]:
    """What is said of the task."""
    given = given_in(options, _CONTENT)
    if given.get("description") == "-":
        given["description"] = read_words(None, "the description")
    return given


@VERBS.add(
    option("title", metavar="TITLE", nargs="+", help="One line."),
    *map(option_of, _CONTENT),
    _ON,
)
def _create(options: Namespace) -> int:
    """Add a task, and print its number."""
    fields: Any = _fields(options) | {"depends_on": options.on or ()}
    return _tell(options, [_open().create(" ".join(options.title), **fields)])


@VERBS.add(
    _TASK,
    option("--title", metavar="TEXT", help="Another title."),
    *map(option_of, _CONTENT),
)
def _update(options: Namespace) -> int:
    """Change a task; what is left out stays."""
    fields: Any = _fields(options)
    if options.title is not None:
        fields["title"] = options.title
    if not fields:
        raise InvalidRequest(f"update needs what to change; see: {options.prog} -h")
    return _tell(options, [_open().update(options.task, **fields)])


@VERBS.add(
    option("tasks", **_NAMED, nargs="*", default=[], help="Which tasks."),
    option("--under", **_NAMED, help="The first that is ready below this one."),
    option("--assignee", metavar="NAME", help="Who takes it."),
    switch("--keep", help="Until it is released, whatever ends before."),
)
def _claim(options: Namespace) -> int:
    """Take tasks, or the first that is ready."""
    tasks = _open()
    holder = tasks.holder
    if options.assignee is not None:
        holder = holder._replace(assignee=options.assignee)
    if options.keep:
        holder = holder._replace(process=None, session=None)
    if options.tasks:
        return _tell(options, (tasks.claim(each, holder) for each in options.tasks))
    under: FilterOptions = {"under": options.under} if options.under else {}
    found = tasks.claim_next(holder, **under)
    if found is None:
        complain("nothing is ready; see: hostbridge task")
    return _tell(options, [found] if found else [])


def _add_verb(deed: Callable[..., Task | list[Task]]) -> None:
    """Add a verb of `Tasks` that is done to each task that is named."""
    _, *arguments = arguments_of(deed, without=("holder",))

    @VERBS.add(_TASKS, *map(option_of, arguments))
    @wraps(deed)
    def run(options: Namespace) -> int:
        tasks, given = _open(), given_in(options, arguments)
        done = (deed(tasks, word, **given) for word in options.tasks)
        each = (one for t in done for one in (t if isinstance(t, list) else [t]))
        return _tell(options, each)


_add_verb(Tasks.release)
_add_verb(Tasks.review)


@VERBS.add(
    _TASKS,
    option("--reason", metavar="TEXT", help="What was changed."),
    option(
        "--route",
        metavar="ROUTE",
        completes="routes",
        help="host (an open session), claude, local or endpoint; by default an open "
        "session, or what BRIDGE_CLI_FALLBACK says.",
    ),
)
def _validate(options: Namespace) -> int:
    """Have an agent look whether tasks are done; exit code 1 if one is not."""
    bridge, is_good = Bridge.open(), True
    for word in options.tasks:
        found = _validated(bridge, word, options)
        is_good = is_good and found["state"] == "passed"
        if options.as_json:
            say_json(found)
        else:
            say(*_verdict_lines(found))
    return Exit.OK if is_good else Exit.FAILED


def _validated(bridge: Bridge, word: str, options: Namespace) -> dict[str, Any]:
    from bridge.api.task_validation import Validation
    from bridge.tasks.validation import VALIDATOR

    progress, interrupts = ProgressLine(VALIDATOR), Interrupts()
    interrupts.on()
    validation = Validation(
        bridge.store,
        bridge.settings,
        person_here(bridge.store, bridge.settings),
        route=options.route or "auto",
        on_stage=interrupts.before(progress),
        on_progress=progress.follow,
    )
    with progress:
        return validation.validate(word, summary=options.reason or "")


def _verdict_lines(found: dict[str, Any]) -> list[str]:
    """The verdict, and what was found."""
    ref, turn, most = found["taskId"], found["iteration"], found["maxIterations"]
    lines = [f"{ref} {found['state']} (look {turn} of {most})"]
    lines += [f"  {prose(found['void'])}"] if found["void"] else []
    if found["state"] != "passed":
        lines += [f"  - {prose(each)}" for each in found["feedback"]]
    return lines


for each in (Tasks.escalate, Tasks.close, Tasks.reopen, Tasks.delete):
    _add_verb(each)


@VERBS.add(
    _TASK,
    _ON,
    option("--not-on", **_NAMED, action="append", help="It waits for this no more."),
)
def _depend(options: Namespace) -> int:
    """Have a task wait for others, or wait no more."""
    tasks = _open()
    if not (options.on or options.not_on):
        raise InvalidRequest("task depend needs --on TASK, or --not-on TASK")
    for other in options.not_on or ():
        tasks.depend_no_more(options.task, other)
    for other in options.on or ():
        tasks.depend(options.task, other)
    return _tell(options, [tasks.get(options.task)])


@VERBS.add(
    option("--out", metavar="FILE", completes="file", help="Write them there, whole.")
)
def _export(options: Namespace) -> int:
    """Print every task as a line of JSON."""
    return export(_open(), options)


@VERBS.add(
    option("file", metavar="FILE|-", completes="file", help="What to read, or -."),
    option(
        "tasks", **_NAMED, nargs="*", default=[], help="Those that --prefer is for."
    ),
    option(
        "--prefer",
        choices=("ours", "theirs"),
        help="Which side counts where both changed a task.",
    ),
)
def _import_(options: Namespace) -> int:
    """Merge an export, or tasks of other programs."""
    return import_(_open(), options)
