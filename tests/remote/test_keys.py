"""The URL of a queue, and what work is of one kind."""

import pytest

from bridge.errors import BadSetting
from bridge.remote.keys import Entry, Needs, read_address, read_entry


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://host?name=shop", "redis://host:6379/0 (shop)"),
        ("rediss://ann@host:7000/3?name=shop", "rediss://ann@host:7000/3 (shop)"),
        ("redis://host", "redis://host:6379/0 (default)"),
        ("unix:///run/redis.sock?name=shop&db=2", "unix:///run/redis.sock (shop)"),
    ],
)
def test_a_queue_is_named_by_its_url(url, shown):
    assert str(read_address(url)) == shown


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (
            "http://host",
            "expected redis://HOST/0?name=NAME, rediss://… or unix:///PATH?name=NAME",
        ),
        (
            "redis://ann:secret@host",
            "it holds a password; say that by BRIDGE_QUEUE_PASSWORD alone",
        ),
        ("redis://", "it names no server: redis://HOST/0?name=NAME"),
        ("redis://host:99999", "it names no server: redis://HOST/0?name=NAME"),
        ("redis://h?nmae=x", "'nmae' is none of name, project, ca, db"),
        (
            "redis://h?name=a}b",
            "name and project: expected 1 to 64 of A-Z a-z 0-9 _ . -",
        ),
        ("redis://h/x", "expected the number of a database, not 'x'"),
    ],
)
def test_error_of_a_url(url, why):
    with pytest.raises(BadSetting) as caught:
        read_address(url)

    assert caught.value.what == f"queue: {why}"
    assert "secret" not in str(caught.value)


def test_all_keys_of_a_queue_are_in_one_slot():
    assert read_address("redis://h?name=shop").key("r", "x") == "hb:{shop}:r:x"


def test_work_is_of_one_kind_if_it_needs_the_same():
    one = Needs(agent="lint", digest="d1", project="p")

    assert one.kind == Needs(agent="lint", digest="d1", project="p").kind
    for other in ({"agent": "x"}, {"digest": "d2"}, {"project": "q"}, {"commit": "c"}):
        assert one.kind != one.with_(**other).kind


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{'0' * 16}.a-b_C.12", Entry("0" * 16, "a-b_C", 12)),
        (f"{'0' * 16}.../x.1", None),
        (f"{'0' * 16}.a.-1", None),
        (f"{'0' * 15}.a.1", None),
        (f"{'0' * 16}.a.1\n", None),
        ("", None),
    ],
)
def test_the_name_of_an_entry_is_no_path(text, found):
    assert read_entry(text) == found
