"""Which commands of hostbridge a model must not run."""

import pytest

from bridge.policy.own_commands import MAX_READ, find_refused

# What a shell starts, however it is written, is a matter of `started_programs`.
REFUSED = {
    "hostbridge on": "on",
    "hostbridge off": "off",
    "hostbridge uninstall --user": "uninstall",
    "hostbridge on --session s1": "on",
    "cd app && hostbridge -C /p trust": "trust",
    "~/.venv/bin/hostbridge config set slots 9": "config set",
    "hostbridge config --user unset slots; ls": "config unset",
    "python3 -m bridge config set slots 9": "config set",
    "hostbridge agents new validator-logic": "agents new",
    "hostbridge agents promote validator-logic": "agents promote",
    "echo '{}' | hostbridge respond 1k0 -": "respond",
    "hostbridge agents promote project --to user": "agents promote",
    "env -u CLAUDECODE setsid hostbridge on &": "on",
    "bash -lc 'cd /p; hostbridge trust'": "trust",
    "env -i tmux -S s new -d 'hostbridge reply --all-held'": "reply",
    "tmux new-session -d hostbridge trust": "trust",
    r"screen -X stuff 'hostbridge config  set slots 9\n'": "config set",
    "(echo yes; sleep 3) | setsid script -qc 'cd /p; hostbridge trust' out": "trust",
    "hostbridge status | cat; hostbridge on # 'unclosed": "on",
    'echo "yes: $(cd "$DIR"; hostbridge on)"': "on",
    "sudo -u me timeout 5s hostbridge on": "on",
    "hostbridge on # --help": "on",
    "hostbridge on -- --help": "on",
    "hostbridge --directory /p on": "on",
    "python -I -mbridge on": "on",
    "python -m bridge.cli.entry on": "on",
    "x" * MAX_READ + "\nhostbridge config set slots 9": "config set",
}
ALLOWED = [
    "hostbridge agents promote fixer --to project",
    "hostbridge agents promote fixer --to=project --json",
    "hostbridge uninstall --dry-run",
    "hostbridge config",
    "hostbridge config get slots",
    "hostbridge ask 'What is going on?'",
    'hostbridge ask general-purpose "on"',
    "hostbridge trust --list",
    "hostbridge config set --help",
    "hostbridge agents new notes --project",
    "hostbridge agents check",
    "git commit -m 'hostbridge on: say so'",
    "tmux new -d 'hostbridge trust --list'",
    "tmux new -d 'hostbridge status'",
    "grep -rn 'hostbridge config set' docs",
    "python -m bridge.host.hook_table trust",
    "ls bridge on",
    "hostbridge status && turn on",
    "hostbridge",
    "'",
    'grep -c "hostbridge config set" README.md',
    "# hostbridge trust",
    "echo hostbridge trust",
    "x" * MAX_READ + "hostbridge on",
]
# Each is read from a great many places, none of which may look at all that follows.
HOSTILE = [
    "std::cout << x;\n",
    ": '<<x'\n",
    "<<x ",
    "<<'x\n",
    "<<\t\t\t\t ",
    "cat <<x\nx\n",
    '"$(',
    "`$((",
    "(",
    "'\"",
    "\\a",
    "eval bash -c ",
    "sudo -n ",
    "# '",
]


@pytest.mark.parametrize("part", HOSTILE)
def test_a_command_as_long_as_may_be_is_read(part):
    """It ends: a reader that looks ahead from each part would take minutes."""
    for before in ("bridge\n", "cat > bridge.cpp <<\\EOF\n", "bash -c 'bridge\n"):
        command = before + part * MAX_READ

        assert find_refused(command[:MAX_READ]) is None
        assert find_refused(command) is None


@pytest.mark.parametrize("command", REFUSED)
def test_what_is_for_the_user(command):
    assert find_refused(command) == f"hostbridge {REFUSED[command]}"


@pytest.mark.parametrize("command", ALLOWED)
def test_what_a_model_may_run(command):
    assert find_refused(command) is None
