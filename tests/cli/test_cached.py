"""`ask --cached`, `ask --watch` and `stale`, as commands."""

import json
import signal
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from fakeclaude import (
    BY_CLAUDE,
    SERVED,
    SUCCESS,
    fake_claude,
    printing,
    result,
    trust_folder,
)
from leftprocesses import Marked

from bridge.cli.asking.ask_watched import watch
from bridge.freshness.completing import _TICK_MS

pytestmark = pytest.mark.slow

ASK = ("ask", "--route", "claude", "Which?")


def having_read(*files: Path) -> str:
    """The lines of a `claude` that reads these files and answers, and counts itself."""
    return having_called(*(("Read", {"file_path": str(file)}) for file in files))


def having_called(*tools: tuple[str, dict[str, str]]) -> str:
    """The lines of a `claude` that makes these calls and answers, and counts itself."""
    calls = [
        {"type": "tool_use", "id": f"t{at}", "name": name, "input": given}
        for at, (name, given) in enumerate(tools)
    ]
    ends = [{"type": "tool_result", "tool_use_id": call["id"]} for call in calls]
    events: list[Any] = [
        {"type": "system", "subtype": "init", "model": "m"},
        {"type": "assistant", "message": {"id": "m1", "content": calls}},
        {"type": "user", "message": {"content": ends}},
        json.loads(result(structured_output=SUCCESS)),
    ]
    return 'echo asked >>"$here/count"\n' + printing(json.dumps(events))


class CountedProject:
    """A project whose `claude` reads `a.py`, and how often it was started."""

    def __init__(self, project: Any, folder: Path) -> None:
        self.project = project
        self.file = project.folder / "a.py"
        self.file.write_text("one\n")
        self.folder = folder
        fake_claude(folder, having_read(self.file))

    @property
    def count(self) -> int:
        file = self.folder / "count"
        return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.fixture
def asked(project, claude, monkeypatch) -> CountedProject:
    """Each command begins when clocks tell the last change of a file from it."""
    run = project.run

    def later(*words: str, **options: Any) -> Any:
        time.sleep(2 * _TICK_MS / 1000)
        return run(*words, **options)

    monkeypatch.setattr(project, "run", later)
    return CountedProject(project, claude)


def test_a_cached_answer_is_the_same_and_says_when_it_was_given(asked):
    first = asked.project.run(*ASK, "--cached", "--json")
    again = asked.project.run(*ASK, "--cached", "--json")
    text = asked.project.run(*ASK, "--cached")

    assert (first.code, first.err) == (again.code, again.err) == (0, "")
    assert first.json["cached"] is False
    assert again.json == first.json | {"cached": True}
    assert asked.count == 1
    assert (text.code, text.out) == (0, SERVED)
    cached, by_whom = text.err.splitlines(keepends=True)
    assert cached.startswith(
        f"hostbridge: this is the answer of request {first.json['requestId']}, "
    )
    assert cached.endswith("; nothing that it rests on has changed\n")
    assert by_whom == BY_CLAUDE.replace("claude\n", "claude (m)\n")


def test_stale_says_why_and_exits_with_it(asked):
    request = asked.project.run(*ASK, "--json").json["requestId"]
    fresh = asked.project.run("stale")
    asked.file.unlink()
    stale = asked.project.run("stale", request)
    as_json = asked.project.run("stale", "--json")

    fresh.prints(0, "1 fresh, 0 stale, 0 unknown\n")
    stale.prints(
        1,
        f"{request}  general-purpose  Which?\n    removed: a.py\n"
        "0 fresh, 1 stale, 0 unknown\n",
    )
    told = as_json.json
    assert as_json.code == 1
    assert (told["requestId"], told["state"]) == (request, "stale")
    assert told["reasons"] == [{"what": "removed", "about": "a.py"}]


def test_a_command_counts_where_git_has_packed_nothing(asked):
    """What was not there when it ran may not come, and no more."""
    fake_claude(asked.folder, having_called(("Bash", {"command": "ls"})))
    (asked.project.folder / ".git/refs").mkdir(parents=True)
    asked.project.run(*ASK)

    assert asked.project.run(*ASK, "--cached", "--json").json["cached"] is True
    (asked.project.folder / ".git/packed-refs").write_text("one\n")
    assert asked.project.run(*ASK, "--cached", "--json").json["cached"] is False


def test_a_client_that_trusts_the_project_by_now_is_asked_anew(asked):
    """Before, it read no memory, no settings and no agents there."""
    home = Path(asked.project.env["HOME"])
    (home / ".claude.json").unlink()
    asked.project.run(*ASK)
    assert asked.project.run(*ASK, "--cached", "--json").json["cached"] is True

    trust_folder(home, asked.project.folder)
    stale = asked.project.run("stale", "--json").json

    assert stale["reasons"] == [
        {
            "what": "model",
            "about": "another would answer on route claude now, or Claude Code trusts "
            "the project as it did not then",
        }
    ]
    assert asked.project.run(*ASK, "--cached", "--json").json["cached"] is False


def test_calls_that_were_not_printed_are_not_relied_on(asked):
    """An older client, or what somebody put in its place, shows none."""
    fake_claude(asked.folder, printing(result(structured_output=SUCCESS)))
    asked.project.run(*ASK)

    assert asked.project.run("stale", "--json").json["reasons"] == [
        {
            "what": "unknown",
            "about": "it rests on something that cannot be checked: calls that were "
            "not printed",
        }
    ]


def test_stale_of_nothing_is_fresh(project):
    project.run("stale").prints(0, "0 fresh, 0 stale, 0 unknown\n")


def test_a_lock_is_written_and_checked(asked):
    asked.project.run(*ASK)
    wrote = asked.project.run("stale", "--write-lock", "answers.lock")
    fresh = asked.project.run("stale", "--lock", "answers.lock")
    asked.file.write_text("two\n")
    stale = asked.project.run("stale", "--lock", "answers.lock", "--json")
    (asked.project.folder / "answers.lock").write_text("what\n")
    broken = asked.project.run("stale", "--lock", "answers.lock")

    wrote.prints(0, "1 answer in answers.lock\n")
    fresh.prints(0, "1 fresh, 0 stale, 0 unknown\n")
    assert stale.code == 1
    assert stale.json["reasons"] == [{"what": "changed", "about": "a.py"}]
    broken.fails(
        2, """answers.lock:1: expected {"hostbridge answers": 2, …}, got 'what'"""
    )


def test_watch_asks_again_after_a_change_until_an_interrupt(asked):
    """One answer a line; a failure is shown, and the next change asks again."""
    with asked.project.start(*ASK, "--watch", "--json") as process:
        first = json.loads(process.stdout.readline())
        asked.file.write_text("two\n")
        second = json.loads(process.stdout.readline())
        fake_claude(asked.folder, printing(result(is_error=True, result="no")))
        asked.file.write_text("three\n")
        failed = json.loads(process.stdout.readline())
        fake_claude(asked.folder, having_read(asked.file))
        asked.file.write_text("four\n")
        last = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)

    answers = (first, second, failed, last)
    assert [each["success"] for each in answers] == [True, True, False, True]
    assert len({each["requestId"] for each in answers}) == 4
    assert process.returncode == 130


def test_a_file_that_never_comes_to_rest_is_named(capsys):
    """Else nobody would know why the question is asked again and again."""
    watched = Namespace(why_all="", restless="build.log", has_changed=lambda: True)
    project = Namespace(watch=lambda _request_id: watched)
    answers = iter([Namespace(request_id="a")])
    options = Namespace(as_json=True)

    with pytest.raises(StopIteration):
        watch(project, options, lambda: next(answers), lambda _: None, lambda: None)

    assert capsys.readouterr().err == (
        "hostbridge: build.log goes on changing; asking all the same\n"
    )


def test_watch_of_what_nobody_can_ask_ends_at_once(project):
    assert project.run("ask", "Which?", "--watch").code == 4


def test_no_command_about_answers_leaves_a_process(asked):
    """Nor does one that is killed while it watches: nothing of ours is resident."""
    marked = Marked()
    asked.project.env |= marked.env
    for words in (
        (*ASK, "--cached"),
        (*ASK, "--cached"),
        ("stale",),
        ("stale", "--write-lock", "answers.lock"),
        ("stale", "--lock", "answers.lock"),
    ):
        assert asked.project.run(*words).code == 0
        assert marked.have_ended()
    with asked.project.start(*ASK, "--watch", "--json") as process:
        process.stdout.readline()
        assert marked.running()
        process.kill()
        process.communicate()

    assert marked.have_ended()
