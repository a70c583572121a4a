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
from collections.abc import Callable, Iterator
from typing import Any, cast

from bridge.api.bridge import Bridge
from bridge.api.task_holder import person_here
from bridge.api.task_validation import Validation
from bridge.cli.exit_codes import Exit
from bridge.cli.inputs import read_words
from bridge.cli.interrupts import Interrupts
from bridge.cli.output import complain, prose, say, say_json, tell
from bridge.cli.progress import ProgressLine
from bridge.cli.screen import screen_of
from bridge.cli.task_exchange import export, import_
from bridge.cli.task_options import CONTENT, FILTERS, NAMES, TASK_OPTIONS, refuse_others
from bridge.cli.task_text import (
    line_of,
    task_lines,
    task_table,
    tree_lines,
    tree_value,
)
from bridge.errors import InvalidRequest
from bridge.tasks.task import FilterOptions, Task, TaskFields, TaskOptions
from bridge.tasks.task_data import json_form
from bridge.tasks.tasks import Tasks
from bridge.tasks.validation import VALIDATOR

OPTIONS = TASK_OPTIONS
USAGE = "[VERB] [TASK|TITLE|FILE]..."
_LOOKING = ("list", "tree", "ready", "show")


def command(options: Namespace) -> int:
    """Do what the verb says; returns the exit code."""
    verb: str = options.what
    refuse_others(verb, options)
    bridge = Bridge.open()
    tasks = Tasks(bridge.store, person_here(bridge.store, bridge.settings))
    if verb in _LOOKING:
        _look(tasks, verb, options)
        return Exit.OK
    if verb in ("export", "import"):
        return (export if verb == "export" else import_)(tasks, options)
    if verb == "validate":
        return _validate(bridge, options)
    is_any = False
    # Each is done, and told, before the next: one that is refused undoes none.
    for task in _change(tasks, verb, options):
        is_any = True
        if options.as_json:
            say_json(json_form(task))
        elif verb == "create":
            say(task.ref)
        else:
            say(f"{'deleted: ' if verb == 'delete' else ''}{line_of(task)}")
    return Exit.OK if is_any else Exit.FAILED


def _look(tasks: Tasks, verb: str, options: Namespace) -> None:
    width = screen_of(sys.stdout).width
    if verb == "show":
        task = tasks.get(options.words[0])
        holder = tasks.holder_of(task.number)
        if options.as_json:
            say_json(json_form(task))
        else:
            now_ms = tasks.store.now_ms()
            say(*task_lines(task, holder, now_ms, width))
    elif verb == "tree":
        branches = tasks.tree(*options.words)
        if options.as_json:
            for value in tree_value(branches):
                say_json(value)
        else:
            say(*(tree_lines(branches, width) or ["no task is here yet"]))
    else:
        look = tasks.list if verb == "list" else tasks.ready
        _say_table(look(**_filter(verb, options)), verb, options, width)


def _say_table(
    found: list[Task], verb: str, options: Namespace, width: int | None
) -> None:
    if options.as_json:
        for task in found:
            say_json(json_form(task))
    elif found:
        say(*task_table(found, width))
    else:
        tell(
            "nothing is ready; see what is there: hostbridge task"
            if verb == "ready"
            else 'no such task is here; hostbridge task create "…" adds one'
        )


def _filter(verb: str, options: Namespace) -> FilterOptions:
    given = {NAMES[name]: getattr(options, NAMES[name]) for name in FILTERS}
    if verb == "list" and not (options.all or options.status):
        given["status"] = ("open", "in_progress", "needs_review", "escalated")
    return cast(
        "FilterOptions", {name: v for name, v in given.items() if v is not None}
    )


def _change(tasks: Tasks, verb: str, options: Namespace) -> Iterator[Task]:
    """Do it; yields each task that was changed."""
    words: list[str] = options.words
    if verb == "create":
        fields = _fields(options) | {"depends_on": options.depends_on or ()}
        yield tasks.create(" ".join(words), **cast("TaskOptions", fields))
    elif verb == "update":
        fields = _fields(options)
        if not fields:
            raise InvalidRequest(f"update needs what to change; see: {options.prog} -h")
        yield tasks.update(words[0], **cast("TaskFields", fields))
    elif verb == "depend":
        yield _depend(tasks, words[0], options)
    elif verb == "claim":
        yield from _claim(tasks, words, options)
    elif verb == "delete":
        for word in words:
            yield from tasks.delete(word, with_children=options.with_children)
    else:
        yield from map(_one_change(tasks, verb, options), words)


def _one_change(tasks: Tasks, verb: str, options: Namespace) -> Callable[[str], Task]:
    """What is done with each task that is named."""
    reason: str = options.reason or ""
    verbs: dict[str, Callable[[str], Task]] = {
        "release": lambda word: tasks.release(word, force=options.force),
        "review": lambda word: tasks.review(word, note=reason),
        "escalate": lambda word: tasks.escalate(word, reason=reason),
        "close": lambda word: tasks.close(word, reason=reason, force=options.force),
        "reopen": tasks.reopen,
    }
    return verbs[verb]


def _fields(options: Namespace) -> dict[str, Any]:
    """What is said of the task."""
    given = {NAMES[name]: getattr(options, NAMES[name]) for name in CONTENT}
    if given["description"] == "-":
        given["description"] = read_words(None, "the description")
    said = {name: value for name, value in given.items() if value is not None}
    return said | {"parent": None} if given["parent"] == "none" else said


def _depend(tasks: Tasks, word: str, options: Namespace) -> Task:
    if not (options.depends_on or options.not_on):
        raise InvalidRequest("task depend needs --on TASK, or --not-on TASK")
    for other in options.not_on or ():
        tasks.depend_no_more(word, other)
    for other in options.depends_on or ():
        tasks.depend(word, other)
    return tasks.get(word)


def _claim(tasks: Tasks, words: list[str], options: Namespace) -> Iterator[Task]:
    holder = tasks.holder
    if options.assignee is not None:
        holder = holder._replace(assignee=options.assignee)
    if options.keep:
        holder = holder._replace(process=None, session=None)
    for word in words:
        yield tasks.claim(word, holder)
    if words:
        return
    under: FilterOptions = {"under": options.under} if options.under else {}
    if found := tasks.claim_next(holder, **under):
        yield found
    else:
        complain("nothing is ready; see: hostbridge task")


def _validate(bridge: Bridge, options: Namespace) -> int:
    """Have each task looked at, and print the verdict; fails if one has not passed."""
    is_good = True
    for word in options.words:
        found = _validated(bridge, word, options)
        is_good = is_good and found["state"] == "passed"
        if options.as_json:
            say_json(found)
        else:
            say(*_verdict_lines(found))
    return Exit.OK if is_good else Exit.FAILED


def _validated(bridge: Bridge, word: str, options: Namespace) -> dict[str, Any]:
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
