"""The verbs of `hostbridge task`, and the options of each: one table."""

from argparse import Namespace

from bridge.cli.options import AS_JSON, option, switch
from bridge.errors import InvalidRequest

_ONE_WORD = ("update", "depend", "show")
FILTERS = ("status", "parent", "under", "category", "assignee", "priority", "search",
            "limit")  # fmt: skip
CONTENT = ("title", "description", "priority", "category", "criteria", "parent")
# Each verb, and the options that it takes beside --json.
VERBS: dict[str, tuple[str, ...]] = {
    "list": (*FILTERS, "all"),
    "tree": (),
    "ready": tuple(name for name in FILTERS if name not in ("status", "assignee")),
    "show": (),
    "create": (*CONTENT[1:], "on"),
    "update": (*CONTENT[1:], "title"),
    "claim": ("assignee", "keep", "under"),
    "release": ("force",),
    "review": ("reason",),
    "validate": ("reason", "route"),
    "escalate": ("reason",),
    "close": ("reason", "force"),
    "reopen": (),
    "delete": ("with_children",),
    "depend": ("on", "not_on"),
    "export": ("out",),
    "import": ("prefer",),
}

TASK_OPTIONS = (
    option(
        "what",
        metavar="VERB",
        nargs="?",
        choices=(*VERBS,),
        default="list",
        help="What to do: list, the default, tree, ready, show, create, update, claim, "
        "release, review, validate, escalate, close, reopen, delete, depend, export or "
        "import.",
    ),
    option(
        "words",
        metavar="TASK|TITLE|FILE",
        nargs="*",
        completes="tasks",
        help="Which tasks; for create the title, for import the file, - for stdin, and "
        "the tasks that --prefer is to decide about, if not all.",
    ),
    option("--title", metavar="TEXT", help="For update: another title."),
    option(
        "--description",
        metavar="TEXT|-",
        help="For create, update: what is to be done; - reads it from stdin.",
    ),
    option(
        "--criteria",
        dest="validation_criteria",
        metavar="TEXT",
        help="For create, update: how to tell that it is done. With criteria, a task "
        "is closed only once it was validated.",
    ),
    option(
        "--priority",
        choices=("high", "normal", "low"),
        help="For create, update: what comes first; for list, ready: only these.",
    ),
    option("--category", metavar="WORD", help="As --priority, a word of your own."),
    option(
        "--parent",
        metavar="TASK|none",
        completes="tasks",
        help="For create, update: what it is a part of; for list, ready: only its "
        "children.",
    ),
    option(
        "--on",
        dest="depends_on",
        metavar="TASK",
        action="append",
        completes="tasks",
        help="For create, depend: it waits until this one is closed. May be repeated.",
    ),
    option(
        "--not-on",
        metavar="TASK",
        action="append",
        completes="tasks",
        help="For depend: it waits for this one no more.",
    ),
    option(
        "--status",
        action="append",
        metavar="STATUS",
        help="For list: only what is open, in_progress, needs_review, closed or "
        "escalated. May be repeated.",
    ),
    switch("--all", help="For list: also what is closed."),
    option(
        "--under",
        metavar="TASK",
        completes="tasks",
        help="For list, ready, claim: only what is below this one.",
    ),
    option(
        "--search",
        dest="text",
        metavar="TEXT",
        help="For list, ready: only what says this.",
    ),
    option("--limit", metavar="N", type=int, help="For list, ready: at most so many."),
    option(
        "--assignee",
        metavar="NAME",
        help="For claim: who takes it; for list: only what this one has taken.",
    ),
    switch("--keep", help="For claim: until it is released, whatever ends before."),
    option(
        "--reason",
        metavar="TEXT",
        help="For close, review, escalate: why; for validate: what was changed.",
    ),
    option(
        "--route",
        metavar="ROUTE",
        completes="routes",
        help="For validate: host (an open session), claude, local or endpoint; by "
        "default an open session, or what BRIDGE_CLI_FALLBACK says.",
    ),
    switch(
        "--force",
        help="For release: though somebody else holds it; for close: though it was not "
        "validated, with a --reason.",
    ),
    switch("--with-children", help="For delete: and all below it."),
    option(
        "--out",
        metavar="FILE",
        completes="file",
        help="For export: write it there, at once and whole.",
    ),
    option(
        "--prefer",
        choices=("ours", "theirs"),
        help="For import: which side counts where both changed a task.",
    ),
    AS_JSON,
)


# By which name the program has each.
_NAMES = {each.names[-1][2:].replace("-", "_"): each.settings for each in TASK_OPTIONS}
NAMES = {name: settings.get("dest", name) for name, settings in _NAMES.items()}


def refuse_others(verb: str, options: Namespace) -> None:
    """Refuse what this verb would not look at."""
    every = dict.fromkeys(name for names in VERBS.values() for name in names)
    for name in every:
        if getattr(options, NAMES[name]) in (None, False) or name in VERBS[verb]:
            continue
        takes = ", ".join(f"--{each.replace('_', '-')}" for each in VERBS[verb])
        raise InvalidRequest(
            f"task {verb} takes no --{name.replace('_', '-')}; it takes "
            f"{takes or 'no option but --json'}"
        )
    count = len(options.words)
    most = {"list": 0, "ready": 0, "export": 0, "tree": 1}.get(verb)
    most = 1 if verb in _ONE_WORD else most
    least = 0 if verb in ("list", "ready", "export", "tree", "claim") else 1
    if count < least:
        wanted = {"create": 'a title: hostbridge task create "…"',
                  "import": "a file, or - for stdin"}  # fmt: skip
        need = wanted.get(verb, "a task; see: hostbridge task")
        raise InvalidRequest(f"task {verb} needs {need}")
    if most is not None and count > most:
        word = options.words[most]
        way = f"; try: task depend {options.words[0]} --on {word}"
        hint = way if verb == "depend" else ""
        raise InvalidRequest(f"task {verb}: one word too many: {word!r}{hint}")
