"""By what a claim may name a command, by where it started and what it changed to."""

import pytest

from bridge.policy.seen_commands import as_claimed
from bridge.protocol.claimed_commands import ToolCall

CALLS = [
    ("/p", "make", "make", None),
    ("/p/", "make", "make", None),
    (None, "make", "make", None),
    ("/p/sub", "make", "cd /p/sub && make", None),
    ("/p/sub", "cd /p && make", "cd /p && make", "make"),
    # Where the session was opened by a link, `..` is that one's folder.
    ("/p/sub", "cd .. && make", "cd /p/sub && cd .. && make", None),
    ("/p", "cd ../p && make", "cd ../p && make", None),
    ("/p", "cd sub/.. && make", "cd sub/.. && make", "make"),
    ("/p", "cd sub && make", "cd sub && make", None),
    # A shell goes by names: `link` leads out of the folder or not.
    ("/p", "cd sub/link/.. && make", "cd sub/link/.. && make", None),
    ("/p/sub", "cd link && make", "cd /p/sub && cd link && make", None),
    ("/p/a b", "make", "cd '/p/a b' && make", None),
]


def test_a_text_that_stops_at_errors_does_not():
    """The client runs `eval TEXT && pwd`, in which bash ignores `set -e`."""
    for text in (
        "set -euo pipefail\nfalse",
        "set -o errexit; false; true",
        "set -x -e; false; true",
        "set -Eeuo pipefail\nfalse\ntrue",
        "shopt -so errexit; false; true",
        "setopt err_exit; false; true",
    ):
        call = ToolCall("Bash", "t", text, ok=True, folder="/p")
        assert as_claimed(call, "/p").ok is None
    for text in ("set -x; ls", "grep -e set -r .", "reset -e"):
        call = ToolCall("Bash", "t", text, ok=True, folder="/p")
        assert as_claimed(call, "/p").ok is True


@pytest.mark.parametrize(("start", "command", "named", "within"), CALLS)
def test_a_command_has_run_where_it_started(start, command, named, within):
    call = ToolCall("Bash", "t", command, ok=True, folder=start)

    claimed = as_claimed(call, "/p")

    assert (claimed.command, claimed.within) == (named, within)
