"""Which commands of hostbridge a model must not run."""

from __future__ import annotations

import pytest

from bridge.policy.own_commands import find_refused

REFUSED = {
    "hostbridge on": "on",
    "hostbridge on --session s1": "on",
    "cd app && hostbridge -C /p trust": "trust",
    "~/.venv/bin/hostbridge config set slots 9": "config set",
    "hostbridge config --user unset slots; ls": "config unset",
    "python3 -m bridge config set slots 9": "config set",
    "hostbridge agents new validator-logic": "agents new",
    "env -u CLAUDECODE setsid hostbridge on &": "on",
    "bash -lc 'cd /p; hostbridge trust'": "trust",
    'eval "hostbridge on"': "on",
    "X=$(hostbridge on)": "on",
    "echo `hostbridge on`": "on",
    "ls\nhostbridge on": "on",
    "(hostbridge on)": "on",
    "hostbridge status | cat; hostbridge on # 'unclosed": "on",
    "cat <<E | hostbridge on\nyes\nE": "on",
}
ALLOWED = [
    "hostbridge off",
    "hostbridge config",
    "hostbridge config get slots",
    "hostbridge ask 'What is going on?'",
    'hostbridge ask general-purpose "on"',
    "hostbridge trust --list",
    "hostbridge config set --help",
    "hostbridge agents new notes --project",
    "hostbridge agents check",
    "git commit -m 'hostbridge on: say so'",
    "grep -rn 'hostbridge config set' docs",
    "cat > notes.md <<'END'\nhostbridge on\nEND",
    "python -m bridge.host.hook_table trust",
    "ls bridge on",
    "hostbridge status && turn on",
    "hostbridge",
    "'",
]


@pytest.mark.parametrize("command", REFUSED)
def test_what_is_for_the_user(command):
    assert find_refused(command) == f"hostbridge {REFUSED[command]}"


@pytest.mark.parametrize("command", ALLOWED)
def test_what_a_model_may_run(command):
    assert find_refused(command) is None
