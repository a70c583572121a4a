"""Rules files in their layers: which count, in which order, and whose variables."""

from pathlib import Path

import pytest

from bridge.agents import trust
from bridge.config import Settings
from bridge.rules import layers
from bridge.rules.compiled import compile_rules, declared_variables, rules_in_order
from bridge.rules.freshness import MAX_SETS, is_fresh
from bridge.rules.layers import live, sources
from bridge.rules.rule_file import read_rules
from bridge.store.location import Place
from bridge.store.store import Store

MINE = """
variables: {limit: 1, mine: true}
on_stop:
  - {name: low, priority: -1, when: limit, block: x}
  - {name: first, when: mine, block: x}
  - {name: off, enabled: false, block: x}
  - {name: broken, when: nonsense, inject_context: x}
"""
THEIRS = """
variables: {theirs: 2}
on_stop:
  - {name: high, priority: 5, when: limit and theirs, block: x}
  - {name: second, block: x}
"""


@pytest.fixture
def place(tmp_path):
    for name in ("home", "main", "tree"):
        (tmp_path / name).mkdir(mode=0o700)
    home, main = tmp_path / "home", tmp_path / "main"
    return Place(tmp_path / "tree", home / "state", home, "a test", main)


@pytest.fixture
def settings(place):
    return Settings(home=place.guard)


def write(folder: Path, text: str) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "rules.yaml").write_text(text)
    return folder / "rules.yaml"


def agree(settings, place):
    files = [f for f in live(sources(settings, place)) if f.layer == "project"]
    trust.record(settings, place.owner, files, clients=())


def names(files):
    return [rule["name"] for rule in rules_in_order(files)["on_stop"]]


def test_by_priority_then_the_users_then_the_projects(settings, place, monkeypatch):
    """Of a linked worktree, the main one's."""
    monkeypatch.setattr(trust, "refuse_inside_a_session", lambda *_: None)
    write(place.guard, MINE)
    write(place.owner / ".bridge", THEIRS)
    write(place.project / ".bridge", "on_stop: [{name: tree, block: x}]")
    store = Store(place)

    before = names(compile_rules(settings, store))
    agree(settings, place)
    after = names(compile_rules(settings, store))

    assert before == ["first", "low"]
    assert after == ["high", "first", "second", "low"]
    built_in = {"require_task_before_edit": False, "validation_model": None}
    written = {"limit": 1, "mine": True, "theirs": 2}
    assert declared_variables(settings, store) == written | built_in


def test_error_a_file_that_is_not_utf_8(settings, place):
    (place.guard / "rules.yaml").write_bytes(b"on_stop:\n# \xff")

    (problem,) = [p for f in live(sources(settings, place)) for p in f.problems]

    assert "rules.yaml:2: not UTF-8" in str(problem)
    assert names(compile_rules(settings, Store(place))) == []


@pytest.mark.parametrize("text", ["", "# later\n", "---\n# on_stop:\n", "null\n"])
def test_an_emptied_file_has_no_rules(settings, place, text):
    """Whoever comments every line out wants none of them."""
    file = write(place.guard, MINE)
    store = Store(place)
    compile_rules(settings, store)

    file.write_text(text)

    assert names(compile_rules(settings, store)) == []
    assert [p for f in live(sources(settings, place)) for p in f.problems] == []


def test_half_a_file_leaves_the_whole_one_in_force(settings, place):
    file = write(place.guard, MINE)
    store = Store(place)
    compile_rules(settings, store)

    file.write_text("on_stop: [")
    half = names(compile_rules(settings, store))
    file.unlink()
    gone = names(compile_rules(settings, store))

    assert (half, gone) == (["first", "low"], [])
    assert {f.name for f in (place.state / "rules").iterdir()} == {"variables.json"}


def test_what_is_not_trusted_is_not_parsed(settings, place, monkeypatch):
    """It may be anybody's, and take long: a hook has little time."""
    mine = write(place.guard, MINE)
    theirs = write(place.owner / ".bridge", THEIRS)
    read = []

    def reading(text, file, *more, **options):
        read.append(file)
        return read_rules(text, file, *more, **options)

    monkeypatch.setattr(layers, "read_rules", reading)
    compile_rules(settings, Store(place))

    assert mine in read
    assert theirs not in read


@pytest.mark.parametrize("kind", ["user", "project"])
def test_error_more_sets_than_a_layer_may_have(settings, place, kind):
    folder = {"user": place.guard, "project": place.owner / ".bridge"}[kind]
    mine = write(place.guard, MINE)
    (folder / "rules").mkdir(parents=True)
    for number in range(1000, 1000 + MAX_SETS + 20):
        (folder / "rules" / f"{number}.yaml").write_text("on_stop: []")

    files = compile_rules(settings, Store(place))

    (last,) = [s for s in sources(settings, place) if s.why]
    assert last.file.name == f"{1000 + MAX_SETS}.yaml"
    assert last.why == "is one of more than 64 rule sets; remove some"
    assert mine in [file.file for file in files]
    assert is_fresh(settings, place)


@pytest.mark.parametrize("name", ["\udc80", "\x1b[31m", "a\nb", "\u202egnp"], ids=ascii)
def test_a_name_that_no_set_can_have_is_no_set(settings, place, name):
    """A stranger's file kept the rules from being compiled, so at every event again."""
    mine = write(place.guard, MINE)
    folder = place.owner / ".bridge/rules"
    folder.mkdir(parents=True)
    (folder / f"{name}.yaml").write_text("on_stop: []")

    files = compile_rules(settings, Store(place))

    assert mine in [file.file for file in files]
    assert is_fresh(settings, place)


@pytest.mark.parametrize("named", ["rules.yaml", "rules/strict.yaml"])
def test_error_a_rules_file_that_leads_into_the_project(settings, place, named):
    """What the next `git pull` brings would be the user's own rules."""
    theirs = place.owner / ".bridge" / named
    for folder in (theirs.parent, (place.guard / named).parent):
        folder.mkdir(parents=True, exist_ok=True)
    theirs.write_text(MINE)
    (place.guard / named).symlink_to(theirs)

    users = [each for each in sources(settings, place) if each.layer == "user"]

    (source,) = [each for each in users if each.file == place.guard / named]
    assert source.data is None
    assert source.why.startswith(f"leads to {theirs}: a project's rules take")


def test_a_rules_file_may_be_a_link_of_the_users(settings, place, tmp_path):
    (tmp_path / "dotfiles.yaml").write_text(MINE)
    (place.guard / "rules.yaml").symlink_to(tmp_path / "dotfiles.yaml")

    assert names(compile_rules(settings, Store(place))) == ["first", "low"]
