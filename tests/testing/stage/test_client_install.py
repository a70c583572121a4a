"""Where the client comes from. A stand-in for npm installs a stand-in for it."""

import multiprocessing
import os

import pytest

from bridge.testing.stage.client import VERSION, ClientUnavailable, ensure_client

pytestmark = pytest.mark.slow

# npm install --prefix FOLDER …: leaves a mark, takes its time, makes a client.
NPM = """#!/bin/sh
echo "$*" >> "{log}"
sleep 0.3
mkdir -p "$3/node_modules/.bin"
printf '#!/bin/sh\\n' > "$3/node_modules/.bin/claude"
chmod +x "$3/node_modules/.bin/claude"
"""


@pytest.fixture
def npm_log(tmp_path, monkeypatch):
    """Put the stand-in first on PATH; the file it writes its arguments to."""
    log = tmp_path / "npm.log"
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "npm"
    program.write_text(NPM.format(log=log))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("BRIDGE_TEST_CLAUDE", raising=False)
    return log


def names(folder):
    """Return what is in a folder."""
    return sorted(file.name for file in folder.iterdir())


def _install(cache, _):
    return ensure_client(cache)


def test_two_processes_install_once(npm_log, tmp_path):
    """Test workers start together, and npm in one folder twice breaks it."""
    cache = tmp_path / "cache"

    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.starmap(_install, [(cache, 1), (cache, 2)])

    program = cache / f"claude-code-{VERSION}" / "node_modules/.bin/claude"
    assert found == [program, program]
    assert os.access(program, os.X_OK)
    (arguments,) = npm_log.read_text().splitlines()
    assert arguments.endswith(f"@anthropic-ai/claude-code@{VERSION}")
    assert names(cache) == [f"claude-code-{VERSION}", f"claude-code-{VERSION}.lock"]


def test_the_cache_is_named_by_the_environment(npm_log, tmp_path, monkeypatch):
    """A machine with a small home folder keeps it elsewhere."""
    monkeypatch.setenv("BRIDGE_TEST_CACHE", str(tmp_path / "elsewhere"))

    assert ensure_client().is_relative_to(tmp_path / "elsewhere")
    assert npm_log.exists()


def test_error_npm_failed(npm_log, tmp_path):
    """What npm said is what helps; nothing half installed is left."""
    npm = npm_log.parent / "bin" / "npm"
    npm.write_text("#!/bin/sh\necho 'no such registry' >&2\nexit 1\n")

    with pytest.raises(ClientUnavailable) as caught:
        ensure_client(tmp_path / "cache")

    assert str(caught.value) == (
        f"npm install @anthropic-ai/claude-code@{VERSION} failed:\nno such registry"
    )
    assert names(tmp_path / "cache") == [f"claude-code-{VERSION}.lock"]


@pytest.mark.parametrize("is_named", [False, True], ids=["no npm", "a wrong path"])
def test_error_no_client(tmp_path, monkeypatch, is_named):
    """The message names both ways out; a wrong path installs no other client."""
    missing = tmp_path / "claude"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BRIDGE_TEST_CLAUDE", raising=False)
    if is_named:
        monkeypatch.setenv("BRIDGE_TEST_CLAUDE", str(missing))

    with pytest.raises(ClientUnavailable) as caught:
        ensure_client(tmp_path / "cache")

    no_npm = (
        "npm not found, and Claude Code comes by npm: install Node.js, or point "
        "BRIDGE_TEST_CLAUDE at a client that is there"
    )
    no_file = f"BRIDGE_TEST_CLAUDE='{missing}': not an executable file"
    assert str(caught.value) == (no_file if is_named else no_npm)


def test_a_client_that_is_there_is_used(npm_log, tmp_path, monkeypatch):
    """No installation, no cache folder."""
    program = tmp_path / "claude"
    program.touch(0o755)
    monkeypatch.setenv("BRIDGE_TEST_CLAUDE", str(program))

    assert ensure_client(tmp_path / "cache") == program
    assert not npm_log.exists()
    assert not (tmp_path / "cache").exists()
