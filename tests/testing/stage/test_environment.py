"""`scripts/environment.sh`: what is there is used again, and what is made runs.

And `scripts/test`, which ends as its checks do.
"""

import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from brokenllama import built_for_another_processor
from programs import ran

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
MADE_FROM = (
    "pyproject.toml", "bridge/extras.py", "scripts/environment.sh",
    "scripts/llama-only.cmake",
)  # fmt: skip
# Stands for every program there: logs what it is to install, and makes a venv. Nothing
# is compiled, which takes minutes: what becomes of each build stands in $LOG.builds. A
# broken one is tried for real, in a process of the real Python.
PYTHON = """\
#!/bin/sh
echo "$*" >>"$LOG.calls"
case "$*" in
*"import sys, venv"*) exec "$REAL" "$@" ;;
*"-m venv"*) mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
*"-m bridge.testing.stage.client"*) exit 1 ;;
*/bridge/extras.py) echo "-DPORTABLE=1 -DOTHER=2" ;;
*"-m bridge.llama.selftest"*)
    read -r build <"$LOG.build"
    [ "$build" = whole ] || LLAMA_CPP_LIB_PATH=$build exec "$REAL" "$@"
    ;;
*"-m pip"*llama-cpp-python*)
    printf '%s\\n' "CMAKE_ARGS=$CMAKE_ARGS CFLAGS=${CFLAGS-} CXXFLAGS=${CXXFLAGS-}" \
        "$SKBUILD_CMAKE_DEFINE" "${*##*--disable-pip-version-check}" >>"$LOG.llama"
    read -r build rest <"$LOG.builds"
    echo "$build" >"$LOG.build"
    echo "${rest:-$build}" >"$LOG.builds"
    ;;
*"-m mypy"*) echo "said by mypy"; exit "${MYPY-0}" ;;
*"-m pytest"*) exit "${PYTEST-0}" ;;
*"-m pip"*) for last; do :; done; printf '%s ' "${last##*/project}" >>"$LOG" ;;
esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The scripts of a project, and programs for them."""
    made = tmp_path / "project"
    for name in MADE_FROM:
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, made / name)
    for name in ("python3", "c++"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(PYTHON)
        program.chmod(0o755)
    return made


def environment(project: Path) -> dict[str, str]:
    """In which a script of the project runs."""
    return {
        "PATH": f"{project.parent}/bin:{os.environ['PATH']}",
        "HOME": str(project.parent),
        "LOG": str(project / "log"),
        "REAL": sys.executable,
    }


def make(project, *extras, builds="whole", here=None, **env):
    """Ask for environments with these extras in turn."""
    script = project / "scripts" / "run"
    script.write_text(
        "set -eu\n"
        '. "${0%/*}/environment.sh"\n'
        'for each; do make_environment "$each"; done\n'
    )
    (project / "log").write_text("")
    (project / "log.builds").write_text(f"{builds}\n")
    (project / "log.llama").write_text("")
    env = environment(project) | env
    return ran("/bin/sh", script, *extras, env=env, cwd=here, timeout=300)


def installed(project: Path, *extras: str) -> str:
    """What is installed, when environments with these extras are asked for in turn."""
    done = make(project, *extras)
    assert done.returncode == 0, done.stderr
    return (project / "log").read_text().strip()


def compiled(project: Path) -> list[list[str]]:
    """Of each build of llama.cpp: two variables' lines, and what pip was told."""
    lines = (project / "log.llama").read_text().splitlines()
    return [lines[n : n + 3] for n in range(0, len(lines), 3)]


def test_an_environment_is_used_again(project):
    """Also by the demo after the tests, which have all that it needs."""
    assert installed(project, "[local]", "[local]") == "[local]"
    assert installed(project, "[dev]", "[local]", "[dev]", "", "[local]") == "[dev]"


def test_nothing_of_the_callers_folder_is_imported(project, tmp_path):
    """Whoever calls the demo by its path may stand in a folder of somebody else's."""
    here = tmp_path / "here"
    here.mkdir()
    for name in ("venv", "ensurepip", "pip", "bridge"):
        (here / f"{name}.py").write_text("open('imported', 'w')")

    done = make(project, "[local]", here=here)

    assert done.returncode == 0, done.stderr
    assert not (here / "imported").exists()
    calls = (project / "log.calls").read_text()
    options = re.findall(r"(\S+) -[cm] (\w+)", calls)
    assert {name for _, name in options} == {"import", "venv", "pip", "bridge"}
    assert {before for before, _ in options} == {"-I", "-P"}


def test_the_first_exchange_needs_no_extra(project):
    """So no compiler: the demo adds the model's library later."""
    assert installed(project, "", "[local]", "", "[local]") == "[local]"


def test_error_no_client(project):
    """What the user has will do, and half of the demo needs none."""
    script = project / "scripts" / "demo"
    shutil.copy(ROOT / "scripts" / "demo", script)
    progress = Path("bridge", "testing", "stage", "progress.py")
    (project / progress).parent.mkdir(parents=True)
    shutil.copy(ROOT / progress, project / progress)

    done = ran(script, env=environment(project))

    assert done.returncode == 1
    assert done.stderr.endswith(
        "scripts: there is no client; one that you have will do: "
        "BRIDGE_TEST_CLAUDE=/path/to/claude scripts/demo; the exchange without a "
        "client: scripts/demo model\n"
    )


@pytest.mark.parametrize("name", MADE_FROM)
def test_an_environment_is_made_again_when_what_it_is_made_from_changes(project, name):
    """How llama.cpp is built is a part of that."""
    installed(project, "[dev]")
    with (project / name).open("a") as file:
        file.write("# changed\n")

    assert installed(project, "[local]", "[local]") == "[local]"


def test_what_tests_need_has_all_extras():
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = metadata["optional-dependencies"]

    assert f"hostbridge[{','.join(e for e in extras if e != 'dev')}]" in extras["dev"]


def made_for(project: Path) -> Path:
    return project / ".venv" / "made-for"


def test_llama_is_built_for_most_processors_whatever_the_user_compiles_for(project):
    """And kept apart from pip's wheels, which do not tell how they were made."""
    own = dict.fromkeys(("CFLAGS", "CXXFLAGS", "CMAKE_ARGS"), "-march=native")
    make(project, "[local]", **own)

    ((flags, defines, told),) = compiled(project)
    assert flags == "CMAKE_ARGS=-DPORTABLE=1 -DOTHER=2 CFLAGS= CXXFLAGS="
    assert defines == (
        "LLAVA_BUILD=OFF;"
        f"CMAKE_PROJECT_llama_cpp_INCLUDE={project}/scripts/llama-only.cmake"
    )
    kept = f"{project.parent}/.cache/hostbridge-tests/llama-"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"]["local"]
    (wanted,) = [each for each in extra if each.startswith("llama-cpp-python")]
    how = rf" --cache-dir {kept}\d+-\d+ --force-reinstall --no-deps "
    assert re.fullmatch(how + re.escape(wanted), told)


def test_a_build_that_the_processor_refuses_is_found_and_made_again(project, tmp_path):
    """Before anybody uses it: a wheel that was kept may have been made elsewhere."""
    broken = built_for_another_processor(tmp_path / "broken")
    make(project, "[local]")
    ((_, _, told),) = compiled(project)
    kept = Path(told.split()[1], "wheels", "llama_cpp_python.whl")
    kept.parent.mkdir(parents=True)
    kept.touch()
    made_for(project).unlink()

    done = make(project, "[local]", builds=f"{broken} whole")

    assert done.returncode == 0
    first, second = (told for _, _, told in compiled(project))
    assert "--no-binary" not in first
    assert " --no-deps --no-binary llama-cpp-python llama-cpp-python>=" in second
    assert "selftest: the model's process was ended by SIGILL; " in done.stderr
    assert done.stderr.endswith("\n== trying it: one token\n")
    assert made_for(project).exists()
    assert not kept.exists()


def test_error_no_build_runs(project, tmp_path):
    """The environment does not count as made, so the next start tries again."""
    broken = built_for_another_processor(tmp_path / "broken")

    done = make(project, "[dev]", builds=str(broken))

    assert done.returncode == 1
    assert len(compiled(project)) == 2
    assert done.stderr.endswith(
        "scripts: llama.cpp was compiled twice, and does not run here; another "
        "compiler may do: CC=clang CXX=clang++ scripts/run\n"
    )
    assert not made_for(project).exists()


def test_any_compiler_will_do(project, tmp_path):
    """CMake takes the one that CXX names, and others than GCC."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "cat", "cksum", "sed", "tr", "mkdir", "cp", "dirname"):
        (tools / name).symlink_to(shutil.which(name) or "")
    (tmp_path / "bin" / "c++").rename(tools / "odd++")
    path = f"{tmp_path}/bin:{tools}"

    without = make(project, "[local]", PATH=path)
    named = make(project, "[local]", PATH=path, CXX="odd++ -O1")
    made_for(project).unlink()
    (tools / "odd++").rename(tools / "clang++")
    clang = make(project, "[local]", PATH=path)

    assert without.stderr.endswith(
        "scripts: no C++ compiler found; on Debian: apt-get install g++\n"
    )
    assert (without.returncode, named.returncode, clang.returncode) == (1, 0, 0)


def test_memory_holds_the_tests_only_where_programs_may_be_started(project, tmp_path):
    """Containers often mount /dev/shm so that none may; a disk always will do."""
    script = project / "scripts" / "try"
    script.write_text(
        'set -eu\n. "${0%/*}/environment.sh"\n'
        'may_start_programs "$1" && echo yes || echo no\n'
    )
    folder = tmp_path / "memory"
    folder.mkdir()

    def tried(where: Path, path: str = os.environ["PATH"]) -> str:
        return ran("/bin/sh", script, where, env={"PATH": path}).stdout.strip()

    # Without its leave to run, a program is refused as it is on such a mount.
    (tmp_path / "no" / "chmod").parent.mkdir()
    (tmp_path / "no" / "chmod").symlink_to(shutil.which("true") or "")

    assert tried(folder) == "yes"
    assert tried(folder, f"{tmp_path}/no:{os.environ['PATH']}") == "no"
    assert tried(tmp_path / "missing") == "no"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ({}, 0),
        ({"PYTEST": "5"}, 5),
        ({"MYPY": "1"}, 1),
        ({"MYPY": "2", "PYTEST": "5"}, 1),
    ],
)
def test_the_checks_end_as_what_they_run(project, ends, code):
    """CI looks at nothing else. What mypy says is shown where it found something."""
    script = project / "scripts" / "test"
    shutil.copy(ROOT / "scripts" / "test", script)
    env = os.environ | environment(project) | {"TMPDIR": str(project)}
    (project / "log.builds").write_text("whole\n")

    done = ran(script, "--fast", env=env | ends)

    assert done.returncode == code, done.stderr
    assert ("said by mypy" in done.stderr) == ("MYPY" in ends)
    assert not list(project.glob("tmp.*"))
