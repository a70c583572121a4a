"""What the page draws with is what was built, and can be built again."""

import json
import re
import subprocess
from hashlib import sha256
from pathlib import Path

import needs
import npmpackages
import pytest

import bridge.report.page

VENDOR = Path(bridge.report.page.__file__).parent / "vendor"
# After `npm run build` in scripts/report_page: sha256sum bridge/report/vendor/*
BUILT = {
    "LICENSES.txt": "db399084d505810fe6c903e5fa0340d335b536afd52be8d0a4fed15c6b1c8b4e",
    "plot.js": "c66ebdb462489cf95bcf51738771a05c595673a52ef9a699baf33a49d24b2084",
}
SMALL = 350_000


def digests(folder):
    return {name: sha256((folder / name).read_bytes()).hexdigest() for name in BUILT}


def test_the_shipped_files_are_those_that_were_built():
    assert {file.name for file in VENDOR.iterdir()} == set(BUILT)
    assert digests(VENDOR) == BUILT


def test_only_what_is_drawn_with_is_shipped():
    """All of Plot and d3 is three times as much."""
    assert (VENDOR / "plot.js").stat().st_size < SMALL


def test_each_package_in_it_comes_with_its_licence():
    text = (VENDOR / "LICENSES.txt").read_text()
    named = re.findall(r"^(\S+) [\d.]+ \((.+)\)$", text, re.M)

    assert ("@observablehq/plot", "ISC") in named
    assert {licence for _, licence in named} <= {"ISC", "BSD-3-Clause", "MIT"}
    assert len(re.findall(r"^Copyright ", text, re.M)) >= len(named)


def test_the_lock_has_every_digest_and_no_address():
    """What is installed is known by its content, wherever it comes from."""
    lock = json.loads((npmpackages.SOURCE / "package-lock.json").read_text())
    packages = [each for name, each in lock["packages"].items() if name]

    assert [each for each in packages if "integrity" not in each] == []
    assert [each for each in packages if "resolved" in each] == []


@pytest.mark.slow
def test_building_again_gives_the_same_bytes(tmp_path):
    """Anybody can find out that nothing else was put into it."""
    folder = npmpackages.installed()

    command = [needs.tool("node"), "build.js", str(tmp_path)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)

    assert digests(tmp_path) == BUILT
