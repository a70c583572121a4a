"""What pytest prints of a program with a mistake: the smallest answer that shows it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import samples

import bridge

ROOT = Path(bridge.__file__).parents[1]


def found_in(folder: Path, program: str, *options: str) -> str:
    """What pytest says of a program, in a folder of its own and with no memory."""
    folder.mkdir()
    # Hypothesis's tables of characters, which take seconds to make.
    tables = ROOT / ".hypothesis" / "unicode_data"
    if tables.is_dir():
        shutil.copytree(tables, folder / ".hypothesis" / "unicode_data")
    (folder / "test_it.py").write_text(program)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.parametrize(
    ("program", "raised", "smallest"),
    [
        pytest.param(
            samples.PARTIAL,
            "KeyError: 'partial'",
            "E       general-purpose was asked 'Is it ready?': "
            "answer({'status': 'partial', 'summary': '0'})",
            id="partial",
        ),
        pytest.param(
            samples.EMPTY,
            "IndexError: list index out of range",
            "E       Explore was asked 'Is it ready?': "
            "answer({'status': 'success', 'summary': '0'})\n"
            "E       general-purpose was asked 'Which modules lack tests?': "
            "answer({'modules': []})",
            id="empty list",
        ),
        pytest.param(
            samples.QUOTA,
            "failed: the model refused because of usage limits",
            "outcome=failure('quota'),\n",
            id="quota",
        ),
        pytest.param(
            samples.QUESTION,
            "KeyError: 'enum'",
            "E       general-purpose was asked 'Print the prices.': "
            "asks('0', {'type': 'string'})",
            id="question",
        ),
        pytest.param(
            samples.CACHED,
            "assert took_ms() >= 0",
            "E       general-purpose was asked 'Is it ready?': "
            "answer({'status': 'success', 'summary': '0'})\n",
            id="cached",
        ),
    ],
)
def test_a_mistake_is_found_by_the_smallest_answer(tmp_path, program, raised, smallest):
    said = found_in(tmp_path / "p", program)

    assert raised in said
    assert smallest in said
    assert "passed" not in said


def test_the_same_seed_finds_the_same(tmp_path):
    """Even before it is made smaller: what is drawn depends on the seed alone."""
    program = samples.EMPTY.replace(
        "max_examples=60",
        "max_examples=60, database=None, phases=[Phase.generate]",
    ).replace("from pydantic", "from hypothesis import Phase\nfrom pydantic")

    first, second = (
        re.findall(
            "^E .* was asked .*",
            found_in(tmp_path / name, program, "--hypothesis-seed=7"),
            re.M,
        )
        for name in ("a", "b")
    )

    assert len(first) >= 2
    assert first == second
