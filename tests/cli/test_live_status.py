"""`status --watch` on a real terminal: what a person sees, at any size of it."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import needs
import pytest
from polling import wait_until

pytestmark = pytest.mark.slow


class Tmux:
    """One terminal, with the command in it."""

    def __init__(self, socket: str) -> None:
        self._program = [needs.tool("tmux"), "-S", socket, "-f", "/dev/null"]

    def __call__(self, *words: str) -> str:
        done = subprocess.run(
            [*self._program, *words], capture_output=True, text=True, check=True
        )
        return done.stdout

    def screen(self) -> list[str]:
        """What is visible, without trailing blanks."""
        lines = self("capture-pane", "-p").split("\n")[:-1]
        return [line.rstrip() for line in lines]

    def wait_for(self, *words: str) -> list[str]:
        """The screen, once it shows all of these."""

        def shown() -> list[str] | None:
            found = self.screen()
            return found if all(w in "\n".join(found) for w in words) else None

        try:
            return wait_until(shown)
        except AssertionError:
            pytest.fail(f"not {words}, but:\n" + "\n".join(self.screen()))


@contextmanager
def watched(project, tmp_path, size: tuple[int, int], **env: str) -> Iterator[Tmux]:
    """`status --watch` on a terminal of this size: columns and lines."""
    tmux = Tmux(str(tmp_path / "socket"))
    wanted = {**project.env, "TERM": "screen", "COLUMNS": "", **env}
    words: Sequence[str] = [f"{name}={value}" for name, value in wanted.items()]
    # tmux may miss the end of what it started: a shell writes the exit code down.
    shell = ["sh", "-c", 'trap : INT; "$@"; echo $? >"$0"', str(tmp_path / "ended")]
    command = [*shell, "env", "-i", *words, sys.executable, "-m", "bridge"]
    where = ["-x", str(size[0]), "-y", str(size[1]), "-c", str(project.folder)]
    tmux("new-session", "-d", *where, *command, "status", "--watch",
         *[";", "set-option", "-g", "remain-on-exit", "on"],
         *[";", "set-option", "-g", "status", "off"])  # fmt: skip
    try:
        yield tmux
    finally:
        tmux("kill-server")


@pytest.fixture
def busy(project, host) -> Callable[[], str]:
    """A project with many requests; the answer to one of them comes when called."""
    (first, *_) = [project.submit(f"number {n}", priority="high") for n in range(9)]
    for _ in range(12):
        project.submit("later", session="another")
    running = host.claim()
    assert len(running) > 1

    def end() -> str:
        host.answer(running[0], '{"status": "success", "summary": "s"}')
        return running[0].request_id

    assert first == running[0].request_id
    return end


@pytest.mark.parametrize("size", [(60, 20), (200, 45)])
def test_it_fills_the_terminal_and_no_more(project, tmp_path, busy, size):
    """What changes is shown where it was; nothing scrolls away above."""
    columns, lines = size
    with watched(project, tmp_path, size) as tmux:
        before = tmux.wait_for("RUNNING", "WAITING")
        ended = busy()
        # The journal, where what ended last is found, is written after the response.
        after = tmux.wait_for(ended, "completed", "1 ended in all")
        history = tmux("display-message", "-p", "#{history_size}").strip()

    assert all(len(line) <= columns for line in (*before, *after))
    assert before[0] == after[0] == str(project.folder)[:columns]
    assert history == "0"
    text = "\n".join(after)
    is_large = lines > 40
    assert bool(re.search(r"^and \d+ more", text, re.M)) is not is_large
    if is_large:
        assert re.search(rf"{ended} +completed", text)
        assert "session another: not open" in text
        assert re.search(r"agents/hour +░+ \d %", text)


def test_another_size_is_filled_as_well(project, tmp_path, busy):
    with watched(project, tmp_path, (160, 40), NO_COLOR="1") as tmux:
        tmux.wait_for("PROMPT")
        tmux("resize-window", "-x", "60", "-y", "14")
        busy()
        found = tmux.wait_for("1 ended")
        tmux("send-keys", "C-c")
        wait_until((tmp_path / "ended").exists)
        status = wait_until((tmp_path / "ended").read_text)

    assert found[0] == str(project.folder)[:60]
    assert sum(bool(line) for line in found) <= 14
    assert status == "0\n"
