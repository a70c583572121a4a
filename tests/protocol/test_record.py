"""Records: what survives a round trip, and what is refused."""

import json
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import NewerSchema
from bridge.protocol.plain_types import field
from bridge.protocol.record import Unparsable, json_lines, json_object, parse
from bridge.protocol.request import Request
from bridge.protocol.response import Response, answered, failed

BAD_ID = "requestId: request id '../x': expected 1 to 128 of A-Z a-z 0-9 _ -"
SMALLEST = {"requestId": "a", "agentType": "Explore", "prompt": "Why?"}


def record(**fields):
    return json.dumps(SMALLEST | fields).encode()


def test_three_fields_make_a_request():
    asked = parse(Request, record())

    assert SMALLEST.items() <= asked.to_data().items()
    assert (asked.timeout, asked.priority, asked.max_attempts) == (120_000, "normal", 2)
    assert (asked.created_at, asked.attempt, asked.depth) == (0, 0, 0)


def test_unknown_keys_survive_a_round_trip():
    data = record(colour="red", nested={"deep": [1, None]})

    again = json.loads(parse(Request, data).to_json())

    assert (again["colour"], again["nested"]) == ("red", {"deep": [1, None]})


def test_error_a_newer_version_is_refused():
    with pytest.raises(NewerSchema) as caught:
        parse(Request, record(schemaVersion=2))

    assert str(caught.value) == (
        "schemaVersion 2 is newer than 1, the newest this hostbridge reads; update "
        "hostbridge"
    )


class Later(Request):
    """A request of a hostbridge to come, which may be asked to tell nobody."""

    is_secret: bool = field(default=False, needed=True)


def test_error_what_an_older_hostbridge_may_not_overlook_is_refused_by_name():
    """Hooks of an old install run beside a new command line."""
    later = parse(Later, record(isSecret=True))

    with pytest.raises(NewerSchema) as caught:
        parse(Request, later.to_json())

    assert str(caught.value) == (
        "isSecret: not known to this hostbridge; update hostbridge"
    )
    assert parse(Later, later.to_json()).is_secret
    assert "needs" not in parse(Later, record(isSecret=False)).to_data()
    with pytest.raises(NewerSchema) as caught:
        parse(Request, record(needs=["\x1b[2J\n", "a" * 9000]))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400
    # A key of theirs, which says nothing.
    assert parse(Later, record(isSecret=True, needs=None)).to_data()["needs"]
    with pytest.raises(Unparsable, match="needs: expected a list of names"):
        parse(Request, record(needs="isSecret"))


ARCHIVE = json.loads(Path(__file__).with_name("records_of_version_1.json").read_text())


@pytest.mark.parametrize("kind", ARCHIVE)
def test_what_is_in_todays_states_is_still_read(kind):
    """And a field that comes is one that nobody may overlook, or is put in here."""
    module, _, name = kind.partition(":")
    found = getattr(import_module(module), name)
    fields = {each.json_name for each in found.fields.values() if not each.needed}

    again = parse(found, json.dumps(ARCHIVE[kind]).encode()).to_data()

    assert again == ARCHIVE[kind]
    assert fields == {*ARCHIVE[kind]}


BAD_REQUESTS = {
    "empty": (b"", "not JSON: Input is a zero-length, empty document: line 1 column 1"),
    "list": (b"[]", "expected a JSON object, got list"),
    "utf-16": (
        b"\xff\xfe",
        "not JSON: str is not valid UTF-8: surrogates not allowed: ",
    ),
    "no fields": (b"{}", "requestId: field required"),
    "climbing id": ({"requestId": "../x"}, BAD_ID),
    "no prompt": ({"prompt": ""}, "prompt: string should have at least 1 character"),
    "version text": ({"schemaVersion": "2"}, "schemaVersion: expected an integer"),
    "no time": ({"timeout": 0}, "timeout: must be greater than 0"),
    "long choice": (
        {"priority": "x" * 50},
        f"priority: must be 'high', 'normal' or 'low', not '{'x' * 40}'",
    ),
    "newline": ({"agentType": "a\nb"}, "agentType: string should match pattern "),
}


@pytest.mark.parametrize(("data", "why"), BAD_REQUESTS.values(), ids=BAD_REQUESTS)
def test_error_in_a_request(data, why):
    """Bytes are a whole record; fields take the place of sound ones."""
    with pytest.raises(Unparsable) as caught:
        parse(Request, data if isinstance(data, bytes) else record(**data))

    assert str(caught.value).startswith(why)


def test_fields_left_open_are_not_written():
    """A definition may still fill it in, unless the caller has taken the defaults."""
    request = Request(request_id="a", prompt="Why?", depth=0)
    short, whole = (json.loads(r.to_json()) for r in (request, request.with_defaults()))

    assert short == {"requestId": "a", "prompt": "Why?", "depth": 0}
    assert whole.keys() == {each.json_name for each in Request.fields.values()}
    assert (whole["timeout"], whole["agentType"]) == (120_000, "general-purpose")


@given(st.binary(max_size=300))
def test_any_bytes_are_a_record_or_an_error(data):
    with suppress(Unparsable, NewerSchema):
        parse(Request, data)


KEYS = st.sampled_from(["requestId", "prompt", "claim", "schema", "schemaVersion"])


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=5)
        ),
    )
)
def test_any_json_is_a_record_or_an_error(value):
    with suppress(Unparsable, NewerSchema):
        parse(Request, record(x=value))
        parse(Request, json.dumps(value).encode())


def test_error_deep_nesting():
    deep = b'{"requestId": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"

    with pytest.raises(Unparsable) as caught:
        parse(Request, deep)

    assert str(caught.value).startswith("not JSON: ")


def nested(field: str, depth: int) -> bytes:
    """A request with `depth` nested objects in `field`."""
    text = json.dumps(SMALLEST | {field: {}})
    return text.replace("{}", '{"a":' * depth + "{}" + "}" * depth).encode()


@pytest.mark.parametrize("field", ["schema", "unknown"])
def test_a_nested_record_can_be_written_again(field):
    read = parse(Request, nested(field, 200))

    assert parse(Request, read.to_json()) == read


@pytest.mark.parametrize("field", ["schema", "unknown"])
@pytest.mark.parametrize("depth", [300, 900])
def test_error_deeper_than_can_be_written(field, depth):
    """The decoder accepts four times the depth of the encoder."""
    with pytest.raises(Unparsable, match=r"^nested too deeply$"):
        parse(Request, nested(field, depth))


@pytest.mark.parametrize("field", ["attempt", "depth", "timeout", "createdAt"])
@pytest.mark.parametrize("digits", ["9" * 20, "9" * 400])
def test_error_a_number_of_more_than_64_bits(field, digits):
    """The decoder makes it a float; in a string it is none."""
    for number in (int(digits), digits):
        with pytest.raises(Unparsable, match=f"^{field}: expected an|infinity"):
            parse(Request, record(**{field: number}))


def test_lone_surrogates_are_replaced():
    """Whatever an agent says, its answer can be written."""
    asked = Request(request_id="a", prompt="Why?")

    end = answered(asked, raw="so \ud800", parsed={}, now_ms=1, route="host")
    lost = failed(asked, "agent_error", "because \udfff", now_ms=1, raw="\ud800")

    assert end.raw_output == "so ?"
    assert (lost.raw_output, lost.error and lost.error.message) == ("?", "because ?")
    assert parse(Response, end.to_json()) == end


def test_error_an_unsafe_id_in_a_response():
    data = {"requestId": "../x", "success": True, "status": "completed"}
    data |= {"completedAt": 1, "duration": 1, "route": "host"}

    with pytest.raises(Unparsable) as caught:
        parse(Response, json.dumps(data).encode())

    assert str(caught.value) == (BAD_ID)


@pytest.mark.parametrize(
    ("data", "value"),
    [(b'{"a": 1}', {"a": 1}), (b"[1]", {}), (b"{", {}), (b"", {}), (None, {})],
)
def test_a_json_object_or_nothing(data, value):
    assert json_object(data) == value


def test_broken_lines_of_a_log_are_skipped():
    assert json_lines(b'{"a": 1}\n[2]\n{"b\n{"c": 3}\n') == [{"a": 1}, {"c": 3}]
