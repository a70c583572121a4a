"""What state/ says about the files is what the models and the store really write."""

import json
import re
from pathlib import Path

import jsonschema
import make_state
import pytest

from bridge.agents import trust
from bridge.cli.common.exit_codes import Exit
from bridge.config import Settings
from bridge.protocol.failure_codes import MEANINGS

STATE = Path(__file__).resolve().parents[2] / "state"

EXAMPLES = {
    "requests": "request",
    "processing": "request",
    "done": "request",
    "responses": "response",
    "agents": "agent-run",
}


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_schemas_are_those_of_the_models(tmp_path):
    """A schema that lags behind its model misleads whoever writes a request by hand.

    Every record has its file, and none is left over from a record that is gone.
    """
    make_state.write_schemas(tmp_path)

    assert files_below(STATE / "schemas") == files_below(tmp_path)


def test_the_example_is_what_the_store_writes(tmp_path):
    """A worked example that nobody could have recorded teaches the wrong thing."""
    make_state.write_example(tmp_path)

    assert files_below(STATE / "example") == files_below(tmp_path)


def test_failures_are_those_of_the_program(tmp_path):
    """Every code is listed, with the exit code and the cure that it really has."""
    make_state.write_failures(tmp_path / "FAILURES.md")

    told = (tmp_path / "FAILURES.md").read_text()
    assert (STATE / "FAILURES.md").read_text() == told
    assert {code for code in MEANINGS if f"| `{code}` |" not in told} == set()
    assert {int(e) for e in re.findall(r"^\| (\d+) \|", told, re.M)} == set(Exit)


def test_what_trusting_writes_beside_the_state_is_listed(tmp_path):
    trust.record(Settings(home=tmp_path), tmp_path / "project", [], clients=())

    told = (STATE / "README.md").read_text().partition("Beside the state")[2]
    assert "trust.json" in files_below(tmp_path)
    assert {f for f in files_below(tmp_path) if f"| `{f}` |" not in told} == set()


@pytest.mark.parametrize("room", EXAMPLES)
def test_each_file_of_the_example_satisfies_its_schema(room):
    """The two halves of state/ must agree."""
    schema = json.loads((STATE / "schemas" / f"{EXAMPLES[room]}.json").read_text())

    for file in (STATE / "example" / room).iterdir():
        jsonschema.validate(json.loads(file.read_text()), schema)
