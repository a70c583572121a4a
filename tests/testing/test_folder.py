"""What a killed test leaves behind: the next one removes it, and nothing else."""

import os
import subprocess
import sys

from bridge.testing.folder import folder, sweep

LEAVES_ONE = """
import os, pathlib, signal
from bridge.testing import folder
folder._QUICK = pathlib.Path(os.environ["PLACE"])
with folder.folder() as root:
    (root / "a").mkdir()
    os.utime(root, (0, 0))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_removed(tmp_path):
    """Memory is not given back otherwise until the machine starts again."""
    env = {**os.environ, "PLACE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", LEAVES_ONE], env=env, check=False)
    elsewhere = tmp_path / "kept"
    elsewhere.mkdir()
    (tmp_path / "hostbridge-test-link").symlink_to(elsewhere)
    assert len([*tmp_path.iterdir()]) == 3

    sweep(tmp_path)

    assert {*os.listdir(tmp_path)} == {"kept", "hostbridge-test-link"}


def test_the_folder_of_a_running_test_stays():
    with folder() as root:
        os.utime(root, (0, 0))

        sweep(root.parent)

        assert root.is_dir()
    assert not root.exists()
