"""`config.toml`: which value counts, and what is said about a broken file."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.config import TABLE, Settings
from bridge.errors import BadSetting
from bridge.store.config_file import MAX_BYTES, in_files, parse, read_file, with_files
from bridge.store.location import locate

FROM_1 = "expected a whole number from 1 to 1,000,000,000"


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def state(home, tmp_path):
    folder = locate(Settings(home=home), tmp_path / "project").state
    folder.mkdir(mode=0o700, parents=True)
    return folder


def write(folder: Path, text: str) -> Path:
    file = folder / "config.toml"
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_the_environment_wins_then_the_project_then_the_user(home, state):
    user = write(home, "slots = 2\nagents_per_hour = 20\nmax_depth = 5\ndebug = true\n")
    project = write(state, "slots = 3\nagents_per_hour = 30\n")
    env = {"BRIDGE_HOME": str(home), "BRIDGE_SLOTS": "9"}

    settings = with_files(Settings.from_environment(env), state)

    found = settings.slots, settings.agents_per_hour, settings.max_depth
    assert (*found, settings.debug, settings.max_offers) == (9, 30, 5, True, 3)
    assert settings.sources == {
        "home": "BRIDGE_HOME",
        "slots": "BRIDGE_SLOTS",
        "agents_per_hour": str(project),
        "max_depth": str(user),
        "debug": str(user),
    }


def test_without_a_file_everything_stays_as_it_is(home, state):
    settings = Settings(home=home)

    assert with_files(settings, state) is settings
    assert with_files(settings, home / "nowhere") is settings


PROBLEMS = {
    "slots = '8'": f"1:9: slots: {FROM_1}; this is text",
    "# mine\nslots = 0": f"2:9: slots='0': {FROM_1}",
    "slots = true": f"1:9: slots: {FROM_1}; this is true or false",
    "slots = 1.5": f"1:9: slots: {FROM_1}; this is float",
    "slots=0x" + "f" * 5000: f"1:7: slots='too many digits': {FROM_1}",
    "debug = 1": "1:9: debug: expected true or false; this is a number",
    "[slots]\nmost = 1": f"1:8: slots: {FROM_1}; this is a table",
    "slot = 3": "1:1: no setting 'slot'; did you mean slots?",
    "BRIDGE_SLOTS = 3": "1:1: no setting 'BRIDGE_SLOTS'; did you mean slots?",
    "colour = 3": (
        "1:1: no setting 'colour'; update hostbridge, if a newer one has it"
    ),
    "home = '/x'": (
        "1:1: home stands in no file: it says where the files are (BRIDGE_HOME)"
    ),
    "off = true": (
        "1:1: off stands in no file: `hostbridge off` switches off for good "
        "(BRIDGE_OFF)"
    ),
    "cli_fallback = 'clod'": (
        "1:16: cli_fallback='clod': expected claude, local, endpoint, remote, "
        "1 (local) or 0"
    ),
    "local_model = 'x.gguf'": "1:15: local_model='x.gguf': expected / or ~/ in front",
    "local_model = '~no/x'": "1:15: local_model='~no/x': expected / or ~/ in front",
    "claude = './evil'": "1:10: claude='./evil': expected / or ~/ in front",
    "claude = 'a/evil'": "1:10: claude='a/evil': expected / or ~/ in front",
    "claude = '~no/evil'": "1:10: claude='~no/evil': expected / or ~/ in front",
    "slots 3": "1:7: not TOML: expected '=' after a key in a key/value pair",
    "slots = [": "1:10: not TOML: invalid value",
    "slots = 1\nslots = 2": "2:10: not TOML: cannot overwrite a value",
    "slots = '\udcff'": "1:10: not UTF-8",
}


@pytest.mark.parametrize("text", PROBLEMS)
def test_error_a_wrong_line_is_named(text):
    values, wrong, unknown = parse(text, "f")

    assert (values, wrong + unknown) == ({}, [f"f:{PROBLEMS[text]}"])


def test_error_a_key_is_not_quoted():
    _, (problem,), _ = parse("openai_api_key = 12345", "f")

    assert problem == "f:1:18: openai_api_key: expected text; this is a number"


LINES = st.tuples(
    st.sampled_from([*TABLE, "slot", "[slots]", "a.b", '"', ""]),
    st.sampled_from([" = ", "=", "", "\n", ".x = "]),
    st.sampled_from(["1", "-1", "true", "'x'", '"', "[", "{a=1}", "1e400"])
    | st.text(max_size=8),
).map("".join)


@given(st.lists(LINES, max_size=6).map("\n".join))
def test_no_text_breaks_a_hook(text):
    """Each line is a setting or a problem, and nothing else is raised."""
    values, wrong, unknown = parse(text, "f")

    assert set(values) <= set(TABLE)
    assert all(problem.startswith("f:") for problem in wrong + unknown)


def test_a_setting_of_a_newer_hostbridge_costs_no_other(home, state):
    """Hooks that dropped the file would start more agents than the user allows."""
    write(home, "slots = 2\nmost_newer = 1\n")

    layered, (problem,) = in_files(Settings(home), state)

    assert layered.slots == 2
    assert problem.endswith("'most_newer'; update hostbridge, if a newer one has it")
    with pytest.raises(BadSetting, match="no setting 'most_newer'"):
        with_files(Settings(home), state)


def test_error_endless_problems_end():
    text = "".join(f"key{n} = 1\n" for n in range(1000))

    assert len(parse(text, "f")[2]) == 20


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "9" * 5000])
def test_error_what_overstrains_the_parser(text):
    values, (problem,), _ = parse(text, "f")

    assert values == {}
    assert problem.startswith("f: ")


def link(file: Path) -> None:
    (file.parent / "other.toml").write_text("slots = 2")
    file.symlink_to("other.toml")


def foreign(file: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives a file away")
    write(file.parent, "slots = 2")
    os.chown(file, 12345, -1)


HOSTILE = {
    "link": (link, "not a plain file; move it away"),
    "pipe": (os.mkfifo, "not a plain file; move it away"),
    "folder": (Path.mkdir, "not a plain file; move it away"),
    "10 MB": (
        lambda file: write(file.parent, "# mine\n" * 1_500_000),
        f"10500000 bytes, over {MAX_BYTES}; move it away",
    ),
    "others write": (
        lambda file: write(file.parent, "slots = 2").chmod(0o622),
        "others can write to it; run: chmod 600 {}",
    ),
    "foreign": (foreign, "belongs to user 12345, not to you; move it away"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_error_a_hostile_file(home, state, what):
    """It holds up nobody, and sets nothing; the other file still counts."""
    write(home, "slots = 7")
    file = state / "config.toml"
    make, expected = HOSTILE[what]

    make(file)

    problem = f"{file}: {expected.format(file)}"
    settings, problems = in_files(Settings(home=home), state)
    assert (settings.slots, problems) == (7, [problem])
    with pytest.raises(BadSetting) as refused:
        with_files(Settings(home=home), state)
    assert str(refused.value) == problem


def test_error_several_problems_are_counted(home, state):
    write(home, "slot = 1\nslots = 0\n")

    with pytest.raises(BadSetting, match=r"did you mean slots\? \(and 1 more\)$"):
        with_files(Settings(home=home), state)


def test_who_can_read_it(home):
    file = write(home, "openai_api_key = 'sk-1'")
    before = read_file(file).is_exposed
    file.chmod(0o644)

    assert (before, read_file(file).is_exposed) == (False, True)
