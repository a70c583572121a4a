"""The line on the terminal says where a run stands, in a few words."""

import pytest

from bridge.cli.common.progress import ProgressLine, work_words
from bridge.protocol.outcome import Progress as Run
from bridge.protocol.status import Stage


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (Run("thinking", 1, 20), "turn 1 of 20, thinking"),
        (
            Run("thinking", 2, 20, tokens=12, tokens_per_s=31.4),
            "turn 2 of 20, 12 tokens, 31 tokens/s",
        ),
        (
            Run("tool", 2, 5, tool="read_file", tokens_per_s=31.4),
            "turn 2 of 5, read_file, 31 tokens/s",
        ),
        (Run("checking", 3, 5, tool="submit_result"), "turn 3 of 5, submit_result"),
    ],
)
def test_says_turn_tool_and_speed(run, words):
    assert work_words(run) == words


def test_a_run_is_a_running_request():
    """Whoever waits sees the stage of the request and the turn in it."""
    progress = ProgressLine("lint")
    progress.follow(Run("tool", 2, 5, tool="read_file"))

    assert progress._words() == "lint: running, turn 2 of 5, read_file (0 s)"


def test_a_pause_says_what_it_waits_for_and_until_when():
    progress = ProgressLine("lint")
    progress(Stage.PAUSED)
    progress.follow(Run(waits="waiting until 15:00:12 (quota)"))
    paused = progress._words()
    progress(Stage.RUNNING)
    progress(Stage.WAITING)

    assert paused == "lint: waiting until 15:00:12 (quota) (0 s)"
    assert progress._words() == "lint: waiting (0 s)"


def test_in_a_log_each_wait_is_told_once(capsys):
    first, second = "waiting until 15:00:12 (quota)", "pause before try 2 of 2"
    with ProgressLine("lint") as progress:
        for waits in (first, first, "", first, second):
            progress.follow(Run(waits=waits))

    said = capsys.readouterr().err.splitlines()
    assert [line.partition("lint: ")[2] for line in said] == [first, second]


def test_where_stderr_is_no_terminal_nothing_is_shown(capsys):
    """`--json` in a script stays clean on both channels."""
    with ProgressLine("lint") as progress:
        progress.follow(Run("thinking", 1, 5, tokens=3))

    assert capsys.readouterr() == ("", "")
