"""`hostbridge ask`: what it prints, and the exit code of every end."""

import json
import os
import re
import signal

import pytest

from bridge.protocol.failure_codes import MEANINGS

pytestmark = pytest.mark.slow

ANSWER = '{"status": "success", "summary": "three modules lack tests"}'
MODULES = {
    "type": "object",
    "required": ["modules"],
    "properties": {"modules": {"type": "array", "items": {"type": "string"}}},
}


def test_prints_status_summary_and_evidence(project, host):
    """A person reads the answer without knowing JSON."""
    evidence = [
        {"type": "test", "content": "12 passed", "passed": True},
        {"type": "note", "content": "two\nlines"},
    ]
    words = json.dumps(json.loads(ANSWER) | {"evidence": evidence})

    with host.serving(words) as seen:
        ran = project.run("ask", "Which modules lack tests?")

    ran.prints(
        0,
        "success: three modules lack tests\n\nevidence:\n"
        "  [not verified, passed]\n    test: 12 passed\n"
        "  [not verified]\n    note: two\n        lines\n",
    )
    assert [(r.agent_type, r.prompt) for r in seen] == [
        ("general-purpose", "Which modules lack tests?")
    ]


def test_json_is_the_whole_record_on_one_line(project, host):
    """Programs get what is on disk, what they look for first."""
    with host.serving():
        ran = project.run("ask", "Explore", "Which?", "--json", "--task-id", "T-1")

    record = ran.json
    assert (ran.code, ran.err) == (0, "")
    assert list(record)[:4] == ["requestId", "success", "route", "parsedOutput"]
    assert record == project.response(record["requestId"]).to_data()
    assert record["parsedOutput"]["taskId"] == "T-1"


def test_schema_answers_are_pretty_json(project, host):
    """The value that satisfies the schema, nothing around it."""
    (project.folder / "modules.json").write_text(json.dumps(MODULES))

    with host.serving('Here: {"modules": ["billing"]}') as seen:
        ran = project.run("ask", "Explore", "Which?", "--schema", "modules.json")

    assert ran == (0, '{\n  "modules": [\n    "billing"\n  ]\n}\n', "")
    assert seen[0].answer_schema == MODULES


def test_warns_of_a_misspelt_keyword_in_a_schema(project):
    """JSON Schema ignores unknown keywords; the author would want to know."""
    (project.folder / "slip.json").write_text('{"type": "object", "requierd": ["a"]}')

    ran = project.run("submit", "Which?", "--schema", "slip.json")

    assert ran.code == 0
    assert ran.err == (
        "hostbridge: slip.json: $: JSON Schema has no keyword 'requierd'; did you mean "
        "'required'? (it is ignored)\n"
    )


def test_every_option_reaches_the_request(project, host):
    """Nothing is possible only from the library, either."""
    options = (
        "--timeout=30 --model=haiku --priority=high --task-id=T --dedup-key=K "
        "--session=session-1 --answer-to-host --route=host"
    )

    with host.serving() as seen:
        ran = project.run(
            "ask", *options.split(), "Plan", "-", stdin=b"gr\xc3\xbc\xc3\x9f"
        )

    assert ran.code == 0
    expected = {"agent_type": "Plan", "prompt": "grüß", "requester": "a test"}
    expected |= {"timeout": 30_000, "model": "haiku", "priority": "high"}
    expected |= {"task_id": "T", "dedup_key": "K", "session": "session-1"}
    expected |= {"answer_to_host": True}
    assert {name: getattr(seen[0], name) for name in expected} == expected


def test_exit_1_when_the_agent_reports_failure(project, host):
    """A valid answer that says no is an answer: it is printed, and it is a failure."""
    with host.serving('{"status": "blocked", "summary": "no network"}'):
        ran = project.run("ask", "Fetch it")

    (request_id,) = project.ids()
    more = f"see all of it: hostbridge show {request_id}"
    said = f"hostbridge: {MEANINGS['agent_blocked']}; {more}\n"
    assert ran == (1, "blocked: no network\n", said)


def test_exit_1_when_the_request_failed(project, host):
    """Prose where JSON was due is no answer; --json still prints the record."""
    with host.serving("I would rather not."):
        ran = project.run("ask", "Fetch it", "--json")

    assert ran.code == 1
    assert "\n    | I would rather not.\n" in ran.err
    wanted = {"success": False, "rawOutput": "I would rather not."}
    assert (wanted | {"parsedOutput": None}).items() <= ran.json.items()
    assert ran.json["error"]["code"] == "no_json"


def screen(message: str) -> str:
    """A message of an exception as the command line prints it."""
    what, _, ways = message.partition(". What to do: ")
    items = "".join(f"    - {way}\n" for way in ways.split("; "))
    return f"hostbridge: {what}\n  what to do:\n{items}"


NO_HOST = (
    "no Claude Code session with hostbridge is open in {0}. What to do: `hostbridge "
    "install` first (it was never run here), then start `claude` in {0}; if it is "
    "open already, answer its question about trust, or type something into it; leave "
    "it for a later session: "
    "`hostbridge submit --timeout 1d`; have it answered here: `--route local` (a "
    "local model), `--route claude` (claude -p) or `--route endpoint`, or "
    "BRIDGE_CLI_FALLBACK for every ask; see what is wrong with `hostbridge doctor`"
)


def test_exit_4_when_no_session_is_open(project):
    """It fails at once, names every way out, and asks nothing."""
    ran = project.run("ask", "Anybody?", "--json")

    message = NO_HOST.format(project.folder)
    assert (ran.code, ran.err) == (4, screen(message))
    assert ran.json == {
        "requestId": None,
        "success": False,
        "error": {"code": "no_host", "message": message, "stage": "no host"},
    }
    assert project.bridge.overview().waiting == 0


@pytest.mark.parametrize(
    ("before", "options", "what", "way"),
    [
        (
            "env BRIDGE_OFF=1", "",
            "hostbridge is off in this shell (BRIDGE_OFF is set)", "unset BRIDGE_OFF",
        ),
        (
            "off", "",
            "hostbridge is off in this project (`hostbridge off`)", "`hostbridge on`",
        ),
        (
            "off --session session-1", "--session session-1",
            "the bridge is switched off in every session that could take it",
            "`hostbridge on --session session-1`",
        ),
        (
            "", "--session s2", "session 's2' is not open in {0} (open: session-1)",
            "open it again: `claude --resume s2`; ask without naming a session",
        ),
    ],
    ids=["by the environment", "in the project", "in the session", "not open"],
)  # fmt: skip
@pytest.mark.usefixtures("beside")
def test_exit_4_names_the_ways_out_of_its_cause(project, before, options, what, way):
    """To start a session would not help where one is open."""
    if before == "env BRIDGE_OFF=1":
        project.env["BRIDGE_OFF"] = "1"
    elif before:
        project.run(*before.split())

    ran = project.run("ask", "Anybody?", *options.split())

    later = "leave it for a later session: `hostbridge submit --timeout 1d`"
    message = f"{what.format(project.folder)}. What to do: {way}; {later}"
    assert ran == (4, "", screen(message))
    assert project.bridge.overview().waiting == 0


@pytest.mark.usefixtures("host")
def test_exit_5_at_the_deadline(project):
    """The caller gets its answer in time, also when that is: none."""
    ran = project.run("ask", "Anybody?", "--timeout", "0.2", "--json")

    record = ran.json
    # A session that has just begun is named as well: how long ago is the machine's.
    first, *rest = record["error"].pop("message").split("; session ")
    assert (ran.code, record["status"], record["error"], first) == (
        5,
        "timeout",
        {"code": "timeout", "alias": "AGENT_005", "stage": "waiting"},
        "no answer within 0.2 s: nobody had taken it",
    )
    assert all(each.endswith("; wait a few seconds and ask again") for each in rest)
    assert ran.err.startswith(
        f"hostbridge: request {record['requestId']} failed: {first} (timeout)\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.usefixtures("host")
def test_exit_130_cancels_the_request(project, until, number):
    """Whoever goes away does not leave an agent working for nobody."""
    with project.start("ask", "Anybody?") as process:
        (file,) = until(lambda: list(project.state.glob("requests/*.json")))
        process.send_signal(number)
        out, err = process.communicate(timeout=300)

    said = f"hostbridge: interrupted; cancelled {file.stem}\n"
    assert (process.returncode, out, err.decode()) == (130, b"", said)
    assert project.response(file.stem).status == "cancelled"


def test_ignored_signals_stay_ignored(project, host, until):
    """Under nohup a closed terminal ends nothing."""
    ignored = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    with project.start("ask", "Anybody?", **ignored) as process:
        until(lambda: list(project.state.glob("requests/*.json")))
        process.send_signal(signal.SIGHUP)
        with host.serving():
            process.communicate(timeout=300)

    assert process.returncode == 0


def test_progress_shows_the_stage_on_a_terminal(project, host):
    """Whoever waits at a terminal sees how far it has come; stdout stays clean."""
    ours, theirs = os.openpty()
    shown = ""

    def once_shown(_: object) -> str:
        nonlocal shown
        while not re.search(r"Explore: waiting \(\d+ s\)", shown):
            shown += os.read(ours, 100_000).decode(errors="replace")
        return ANSWER

    with (
        host.serving(once_shown),
        project.start(
            "ask", "Explore", "x", stderr=theirs, env={"TERM": "xterm"}
        ) as ask,
    ):
        out, _ = ask.communicate(timeout=300)
    os.close(theirs)

    os.close(ours)
    assert out == b"success: three modules lack tests\n"


def test_the_console_script_is_the_same_command(project, host):
    """`hostbridge` on PATH and `python -m bridge` do the same."""
    path = f"{os.path.dirname(os.sys.executable)}:/bin"
    with host.serving():
        ran = project.program(
            "hostbridge", "ask", "x", env=project.env | {"PATH": path}
        )

    ran.prints(0, "success: three modules lack tests\n")
