"""Which agents a project may ask: the same for callers and for workers."""

import json

import pytest
from servingworld import bridge_in
from storeworld import claimant, drop, request, store_in, this_process

from bridge.agents.known_agents import Agents
from bridge.config import Settings
from bridge.engine.temporary import define
from bridge.errors import InvalidRequest, UnknownAgent
from bridge.protocol.ids import RequestId


@pytest.fixture
def store(tmp_path):
    return store_in(tmp_path)


@pytest.fixture
def agents(tmp_path, store):
    settings = Settings(home=tmp_path / "home", claude_dir=tmp_path / "claude")
    return Agents.open(settings, store.place.project)


def test_the_clients_own_agent_has_no_definition(agents, store):
    asked = request(agent_type="Explore")

    assert agents.find("Explore") is None
    assert define(store, agents, asked) == (asked, None)


def test_a_defined_agent_is_served_by_its_definition(agents, store):
    definition = agents.find("researcher")

    defined, by = define(store, agents, request(agent_type="researcher"))

    assert by == definition
    assert defined.definition.digest == definition.source.digest


def test_error_unknown_agent(agents, store):
    """The message is the same for a call and for a file that names it."""
    why = r"^no agent is named 'Explorer'; did you mean Explore\?"

    with pytest.raises(UnknownAgent, match=why):
        agents.find("Explorer")
    with pytest.raises(UnknownAgent, match=why):
        define(store, agents, request(agent_type="Explorer"))


SLOW = """\
name: slow
prompt: "{{ task }}"
timeout: 300
model: opus
max_attempts: 7
priority: low
"""
DEFAULTS = {"timeout": 120_000, "max_attempts": 2, "model": "inherit"}


@pytest.fixture
def slow(tmp_path):
    folder = tmp_path / "home" / "agents"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "slow.yaml").write_text(SLOW)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("is_held", [False, True], ids=["at once", "after a claim"])
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, (300_000, 7, "opus")),
        ({"model": None}, (300_000, 7, "opus")),
        (DEFAULTS, (120_000, 2, "inherit")),
        ({"timeout": 120_000}, (120_000, 7, "opus")),
    ],
)
def test_a_default_that_is_written_out_counts(
    agents, store, fields, expected, *, is_held
):
    """`timeout: 120000` wins over the definition, although it is the default."""
    asked = {"requestId": "a", "agentType": "slow", "prompt": "?", **fields}
    drop(store, "requests", "a.json", json.dumps(asked))
    if is_held:
        # The claim writes the record and reads it back before the definition counts.
        assert store.claim_one(RequestId("a"), claimant())
        assert store.give_back(RequestId("a"), this_process(), lambda held: held)
    found = store.find(RequestId("a"))
    assert found.request is not None

    defined, _ = define(store, agents, found.request)

    assert (defined.timeout, defined.max_attempts, defined.model) == expected


@pytest.mark.usefixtures("slow")
def test_a_default_that_a_program_passes_counts(tmp_path):
    bridge = bridge_in(tmp_path)

    ids = [
        bridge.submit("?", "slow", timeout_s=120, priority="normal", model="inherit"),
        bridge.submit("?", "slow"),
    ]

    asked = [bridge.status(each).request for each in ids]
    expected = [(120_000, "normal", "inherit"), (300_000, "low", "opus")]
    assert [(r.timeout, r.priority, r.model) for r in asked if r] == expected
    # The file itself says everything that applies.
    text = (bridge.store.place.state / "requests" / f"{ids[0]}.json").read_text()
    assert (json.loads(text)["maxAttempts"], json.loads(text)["attempt"]) == (7, 0)


def test_error_a_model_that_is_asked_for_must_suit_the_route(tmp_path):
    """The definition's own model is only preferred: another may answer instead."""
    folder = tmp_path / "home" / "agents"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "far.yaml").write_text("name: far\nprompt: '?'\nmodel: openai:m\n")
    bridge = bridge_in(tmp_path)

    assert bridge.submit("?", "far", route="claude")
    with pytest.raises(InvalidRequest, match="takes no model 'openai:m'"):
        bridge.submit("?", "far", route="claude", model="openai:m")
