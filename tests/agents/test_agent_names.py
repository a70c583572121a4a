"""Names of agents: which are valid, and which file may define one."""

import pytest

from bridge.agents import agent_names


@pytest.mark.parametrize("name", ["a", "9", "C# pro", "a/b", "代码", "é" * 128])
def test_valid_names(name):
    assert agent_names.is_name(name)


@pytest.mark.parametrize(
    "name",
    ["", " a", "a ", "-a", "_a", "a\nb", "a:b", 'a"b', "a`b", "a<b", "x" * 129, "~a"],
)
def test_invalid_names(name):
    assert not agent_names.is_name(name)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"name: a\n", "a"),
        (b"\xef\xbb\xbfname: a\n", "a"),
        (b"x: 1\r\nname : 'a b'  # comment\r\n", "a b"),
        (b'x: 1\nname:\t"a"', "a"),
        (b"name: a b \n", "a b"),
        ("name: é\n".encode(), "é"),
    ],
)
def test_the_name_that_a_head_declares(head, name):
    assert agent_names.declared(head) == name
    assert agent_names.declares(head, name)
    assert not agent_names.declares(head, f"{name}x")
    assert not agent_names.declares(head, name[:-1])


@pytest.mark.parametrize(
    "head", [b'{"name": "a", "b": 1}', b"{x: 1, name: a}", b"{name: a,", b"name: a#"]
)
def test_a_name_inside_a_mapping(head):
    """Only a search finds it; a list has the name of the file."""
    assert agent_names.declares(head, "a")


@pytest.mark.parametrize(
    "head", [b"", b"nam: a\n", b"  name: a\n", b"name:\n", b"name: a:b\n", b"x name: a"]
)
def test_a_head_without_a_valid_name_on_its_own_line(head):
    assert agent_names.declared(head) is None


@pytest.mark.parametrize(
    ("head", "has"),
    [(b"name: a\n", True), (b"x\nname: a\n", True), (b"name: a", False), (b"x", False)],
)
def test_whether_a_head_has_a_whole_line_with_a_name(head, *, has):
    assert agent_names.has_name(head) is has


def test_the_head_of_a_file_is_short_if_the_name_is_in_it():
    early = b"name: a\n" + b"x" * agent_names.MAX_HEAD
    late = b"x" * agent_names.SHORT_HEAD + b"\nname: a\n" + b"x" * agent_names.MAX_HEAD

    assert agent_names.head_of(early) == early[: agent_names.SHORT_HEAD]
    assert agent_names.head_of(late) == late[: agent_names.MAX_HEAD]
