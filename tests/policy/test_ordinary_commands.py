"""How many ordinary commands the recipes that we show would refuse."""

from pathlib import Path

from bridge.cli.definitions.rules_new import TEXT
from bridge.policy.shell_functions import shell

SAMPLE = Path(__file__).with_name("samples") / "ordinary.txt"
CONDITION = 'runs(command, "git push")'


def commands() -> list[str]:
    """Written as in a session: `$ ` begins a command, and `> ` goes on."""
    found: list[str] = []
    for line in SAMPLE.read_text().splitlines():
        if line.startswith("$ "):
            found.append(line[2:])
        else:
            found[-1] += f"\n{line[2:]}"
    return found


def test_at_most_one_in_a_hundred_is_refused():
    """None of them pushes; many speak of it: in messages, scripts, searches."""
    assert CONDITION in TEXT
    sample = commands()

    refused = [one for one in sample if shell()["runs"](one, "git push") is not False]

    assert len(sample) > 500
    assert len(refused) <= len(sample) // 100, "\n".join(refused)
