"""The command line as a whole: help, exit codes, streams that are not there."""

import os
import subprocess
import sys

import pytest

from bridge.cli.commands import COMMANDS, OLDER
from bridge.cli.common.exit_codes import exit_code, of_failure
from bridge.cli.main import run
from bridge.errors import DepthExceeded, NoHost, NoRoute, WaitTimeout


def test_help_lists_every_command(project):
    """One line each; three lines to start with."""
    ran = project.run("--help")

    assert (ran.code, ran.err) == (0, "")
    for name, line in COMMANDS.items():
        is_listed = f"  {name:<10}  {line}\n" in ran.out
        assert is_listed == (name not in OLDER)
    assert (
        "To start:\n  hostbridge install        # once, in your project\n"
        "  claude                    # in another terminal: a session\n"
        '  hostbridge ask "Which modules lack tests?"\n'
    ) in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_ends_with_examples(capsys, name):
    """What one can paste teaches faster than a table of options."""
    code = run([name, "--help"])

    out, err = capsys.readouterr()
    title, first, *others = out.rpartition("\n\n")[2].splitlines()
    assert (code, err, title) == (0, "", "For example:")
    assert "hostbridge " in first
    assert f"hostbridge {name}" in "".join(others)


def test_help_of_a_command_is_found_both_ways(capsys):
    """As git, and nearly everyone, has it."""
    code = run(["help", "ask"])
    by_word = capsys.readouterr()
    run(["ask", "--help"])

    assert (code, by_word) == (0, capsys.readouterr())
    assert run(["help", "nope"]) == 2


@pytest.mark.parametrize(
    "error", [DepthExceeded("x"), NoHost("x"), NoRoute("x"), WaitTimeout("x")],
    ids=lambda error: error.code,
)  # fmt: skip
def test_a_refusal_ends_as_the_failure_of_its_code(error):
    """state/FAILURES.md promises one exit code for each, asked already or not."""
    assert exit_code(error) is of_failure(error.code)


@pytest.mark.parametrize(
    ("words", "name", "quoted"),
    [
        (["which modules lack tests?"], "which modules lack tests?", ""),
        (["hi there"], "hi there", ""),
        (["what", "lacks", "tests?"], "what", "'what lacks tests?'"),
        (["Plan", "what is next?", "-t5"], "Plan", "Plan 'what is next?' -t5"),
        (["why", "-t", "5m"], "why", "why -t 5m"),
    ],
)
def test_error_a_question_without_a_command(capsys, words, name, quoted):
    """What was meant, to be pasted."""
    code = run(words)

    asked = f"to ask: hostbridge ask {quoted or repr(name)}"
    hint = "did you mean wait?" if name == "what" else "see `hostbridge --help`"
    message = f"no command {name!r}; {hint}; {asked}"
    assert (code, *capsys.readouterr()) == (2, "", f"hostbridge: {message}\n")


@pytest.mark.parametrize(
    ("words", "moved"),
    [
        (["--json", "status"], "status --json"),
        (["--timeout", "5", "ask", "Why now?"], "ask --timeout 5 'Why now?'"),
    ],
)
def test_error_options_before_the_command(capsys, words, moved):
    """What was meant, to be pasted."""
    code = run(words)

    out, err = capsys.readouterr()
    message = f"hostbridge: options come after the command: hostbridge {moved}\n"
    assert (code, err) == (2, message)
    assert bool(out) == ("--json" in words)


def test_error_bad_setting(project):
    """A variable that means nothing is named."""
    project.run("where", env={"BRIDGE_SLOTS": "many"}).fails(
        2, "BRIDGE_SLOTS='many': expected a whole number from 1 to 1,000,000,000"
    )


def test_exit_3_for_a_bug_of_ours(project):
    """No traceback on the screen; a log that can be sent."""
    code = (
        "import bridge.api.bridge as b; b.Bridge.overview = lambda self: 1 / 0\n"
        "from bridge.cli.main import main; main()"
    )
    ran = project.program(sys.executable, "-c", code, "status")

    line, log = ran.err.rstrip("\n").rsplit(" ", 1)
    assert (ran.code, ran.out) == (3, "")
    assert line == (
        "hostbridge: a bug of hostbridge: ZeroDivisionError('division by zero'); "
        "please report it with"
    )
    with open(log) as file:
        assert file.read().endswith("ZeroDivisionError: division by zero\n")


def test_a_reader_that_has_gone_is_no_error_message(project):
    """`hostbridge schema request | true` says nothing."""
    read, write = os.pipe()
    os.close(read)

    ran = project.run("schema", "request", stdout=write)

    os.close(write)
    assert ran == (1, "", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize(
    "words", [["where", "--json"], ["status", "--json"], ["--version"]]
)
def test_error_full_disk(project, words):
    """What could not be printed is not a success."""
    with open("/dev/full", "wb") as full:
        ran = project.run(*words, stdout=full)

    assert ran == (1, "", "hostbridge: no space left on device\n")


def test_closed_streams_do_no_harm(project):
    """Started by a daemon that closed them."""
    script = 'exec "$0" -m bridge submit x <&- >&- 2>&-'
    assert project.program("sh", "-c", script, sys.executable).code == 0
    assert project.bridge.overview().waiting == 1


def test_a_locale_without_letters_does_no_harm(project):
    """Results are UTF-8 in JSON, and readable elsewhere."""
    project.submit("grüß", task_id="ü", request_id="x")
    latin = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}

    ran = project.run("show", "x", env=latin)

    assert (ran.code, ran.err) == (0, "")
    assert "    gr\\xfc\\xdf\n" in ran.out


def test_start_loads_little():
    """Starting fast is a promise: rich, jsonschema come when needed."""
    code = (
        "import sys\nimport bridge.cli.asking.submit, bridge.cli.asking.ask\n"
        "import bridge.cli.records.status, bridge.api.project_status\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    heavy = {"rich", "jsonschema", "jsonschema_rs", "asyncio", "jinja2"}
    ours = {"bridge.protocol.judge", "bridge.api.ask", "bridge.api.wait"}
    late = {"shutil", "difflib", "secrets", "bridge.host.nearby_sessions"}
    assert not (heavy | ours | late) & set(done.stdout.split())
