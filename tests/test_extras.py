"""How to add an extra: the command works for the way hostbridge was installed."""

import json
import platform
import shlex
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from programs import ran

from bridge import extras

ROOT = Path(extras.__file__).parents[1]
FOLDER = "file:///home/u/our%20tools/hostbridge"
THERE = "'/home/u/our tools/hostbridge[local]'"
HUB, AT = "https://git.example/hostbridge.git", {"vcs": "git", "commit_id": "0a1b"}
WHEEL = "file:///tmp/h.whl"


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (None, "'hostbridge[local]'"),
        ({"url": FOLDER, "dir_info": {"editable": True}}, f"-e {THERE}"),
        ({"url": FOLDER, "dir_info": {}}, THERE),
        ({"url": HUB, "vcs_info": AT}, f"'hostbridge[local] @ git+{HUB}@0a1b'"),
        ({"url": WHEEL, "archive_info": {}}, f"'hostbridge[local] @ {WHEEL}'"),
    ],
    ids=["index", "editable", "folder", "git", "wheel"],
)
def test_an_extra_comes_from_where_hostbridge_came_from(origin, wanted):
    """Another source may hold another version, or somebody else's package."""
    text = None if origin is None else json.dumps(origin)

    assert extras._requirement("local", text) == wanted


def test_it_goes_where_hostbridge_is(monkeypatch):
    """A bare `pip` may be that of another environment."""
    monkeypatch.setattr(sys, "executable", "/opt/h b/bin/python")
    monkeypatch.setattr(extras, "find_spec", lambda _name: object())

    for pip, command in (
        ("/opt/h b/bin/pip", "pip install"),
        ("/usr/bin/pip", "'/opt/h b/bin/python' -P -m pip install"),
        (None, "'/opt/h b/bin/python' -P -m pip install"),
    ):
        monkeypatch.setattr(shutil, "which", lambda _name, found=pip: found)
        assert extras._installer() == command

    monkeypatch.setattr(extras, "find_spec", lambda _name: None)
    assert extras._installer() == "uv pip install --python '/opt/h b/bin/python'"


def test_what_is_printed_runs_no_pip_of_the_folder_where_it_is_typed(
    tmp_path, monkeypatch
):
    """Who reads the message may stand in a stranger's project."""
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").touch()
    (tmp_path / "pip" / "__main__.py").write_text("print('a stranger')")
    monkeypatch.setattr(shutil, "which", lambda _name: None)

    *python, _ = shlex.split(extras._installer())
    done = ran(*python, "--version", cwd=tmp_path)

    assert done.stdout.startswith("pip ")


def test_the_command_names_this_checkout():
    """Tests run on an editable install."""
    assert extras.how_to_add("mcp").endswith(f"install -e '{ROOT}[mcp]'")


PLAIN = (
    "-DGGML_NATIVE=OFF -DGGML_AVX=OFF -DGGML_AVX2=OFF -DGGML_FMA=OFF -DGGML_F16C=OFF "
    "-DGGML_BMI2=OFF"
)
ARM = "-DGGML_NATIVE=OFF -DGGML_CPU_ARM_ARCH=armv8.2-a+dotprod"


@pytest.fixture
def processor(tmp_path, monkeypatch):
    """Stand on a machine whose kernel lists these features; None: it has no list."""

    def use(machine: str, features: str | None) -> None:
        listed = tmp_path / "cpuinfo"
        if features is not None:
            listed.write_text(f"processor\t: 0\nflags\t\t: {features}\n\n")
        monkeypatch.setattr(extras, "_FEATURES", listed)
        monkeypatch.setattr(platform, "machine", lambda: machine)

    return use


@pytest.mark.parametrize(
    ("machine", "features", "arguments"),
    [
        ("x86_64", "sse4_2 avx f16c bmi1 avx2 fma bmi2 lm", "-DGGML_NATIVE=OFF"),
        ("x86_64", "avx2 fma f16c bmi2 avx avx512f amx_tile", "-DGGML_NATIVE=OFF"),
        ("x86_64", "sse4_2 avx f16c", PLAIN),
        ("x86_64", "sse4_2 popcnt", PLAIN),
        ("x86_64", None, "-DGGML_NATIVE=OFF"),
        ("aarch64", "fp asimd asimddp sve i8mm", ARM),
        ("aarch64", "fp asimd evtstrm", "-DGGML_NATIVE=OFF"),
        ("arm64", None, "-DGGML_NATIVE=OFF"),
    ],
    ids=["avx2", "amx", "avx", "sse", "intel-mac", "arm", "old-arm", "mac"],
)
def test_llama_is_made_for_more_processors_than_this_one(
    processor, machine, features, arguments
):
    """And for this one: what it does not list is not used."""
    processor(machine, features)

    assert extras.cmake_args() == arguments


def test_the_scripts_ask_this_file_before_anything_is_installed():
    """A bare Python, which finds no package `bridge`."""
    done = ran(sys.executable, "-ISP", extras.__file__)

    assert done.stdout == f"{extras.cmake_args()}\n"


def test_what_is_compiled_is_never_taken_from_the_cache(processor, monkeypatch):
    """A cached wheel does not tell for which processor it was made."""
    monkeypatch.setattr(extras, "_installer", lambda: "pip install")

    for features, arguments in (
        ("avx avx2 fma f16c bmi2", "-DGGML_NATIVE=OFF"),
        ("", f"'{PLAIN}'"),
    ):
        processor("x86_64", features)
        assert extras.how_to_add("local") == (
            f"CMAKE_ARGS={arguments} pip install -e '{ROOT}[local]' --no-cache-dir"
        )
        assert extras.how_to_rebuild() == (
            f"CFLAGS= CXXFLAGS= CMAKE_ARGS={arguments} pip install "
            f"llama-cpp-python=={version('llama-cpp-python')} --no-cache-dir "
            "--force-reinstall --no-deps --no-binary llama-cpp-python"
        )


def test_the_page_says_the_same(processor, monkeypatch):
    """Who reads it first never sees the message."""
    monkeypatch.setattr(extras, "_installer", lambda: "pip install")
    processor("x86_64", "avx avx2 fma f16c bmi2")
    page = (ROOT / "docs" / "models.md").read_text()

    told = extras.how_to_add("local").replace(f"-e '{ROOT}[", '"$HOME/src/hostbridge[')
    assert told.replace("]'", ']"') in page
