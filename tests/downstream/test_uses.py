"""What type checkers of users see: the package is typed, and says what it returns."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

USES = Path(__file__).with_name("uses.py")
_SAID = re.compile(
    r"""uses\.py:(\d+):[ ](?:note:[ ]Revealed[ ]type[ ]is[ ]"(.*)"|error:.*\[(.*)\])""",
    re.X,
)
# mypy writes where a name comes from.
_MODULE = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")


def said_by_mypy(folder: Path) -> dict[int, str]:
    """What mypy says of the program in a folder of its own, by line."""
    shutil.copy(USES, folder)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "uses.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    found = _SAID.findall(done.stdout)
    assert found, done.stdout + done.stderr
    return {int(line): _MODULE.sub("", kind or code) for line, kind, code in found}


def test_a_users_program_is_checked(tmp_path):
    """Without `py.typed` mypy would take nothing from the package."""
    lines = enumerate(USES.read_text().splitlines(), 1)
    expected = {n: line.partition("#: ")[2] for n, line in lines if "  #: " in line}

    assert said_by_mypy(tmp_path) == expected
