"""A dedup key stands for one question: which requests count as the same."""

from typing import Any

import pytest
from storeworld import request, this_process

from bridge.protocol.claim import Claim
from bridge.protocol.dedup import differences
from bridge.protocol.request import Applied, Node, Request
from bridge.protocol.response import Route

NODE = Node(file="a.py", name="f", type="function", line=3, text="def f(): ...")
# A change of each field, and the message about it.
CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"agent_type": "Plan"}, "agent ('Explore' there, 'Plan' here)"),
    ({"prompt": "Where?"}, "prompt"),
    ({"answer_schema": {"type": "object"}}, "schema"),
    ({"model": "haiku"}, "model (None there, 'haiku' here)"),
    ({"arguments": {"a": 1}}, "arguments"),
    ({"variables": {"a": None}}, "variables"),
    ({"node": NODE}, "node"),
    ({"context": {"change": "+x"}}, "change to look at"),
    ({"session": "s"}, "session (None there, 's' here)"),
    ({"task_id": "t"}, "task id (None there, 't' here)"),
    ({"workflow": "w"}, "workflow (None there, 'w' here)"),
    ({"folder": "/p/w"}, "folder (None there, '/p/w' here)"),
    ({"continues": "r0"}, "request that it continues (None there, 'r0' here)"),
    ({"context_from": "session"}, "context (None there, 'session' here)"),
    ({"route": "local"}, "route ('host' there, 'local' here)"),
]


def which(**fields: Any) -> Request:
    return request(**{"prompt": "Which?", "agent_type": "Explore", **fields})


@pytest.mark.parametrize(("fields", "difference"), CHANGES, ids=str)
def test_what_changes_the_answer_is_a_difference(fields, difference):
    assert differences(which(**fields), which()) == [difference]


def test_every_field_is_compared_or_known_not_to_count():
    """A new field may change the meaning of an answer: decide which it is."""
    counts = {field for fields, _ in CHANGES for field in fields}
    bookkeeping = {
        "schema_version", "request_id", "definition", "timeout", "created_at", "uptime",
        "status", "priority", "requester", "parent_request_id", "depth", "attempt",
        "max_attempts", "dedup_key", "answer_to_host", "claim", "declined_by",
        "falls_back_to", "held", "approved", "asker", "failures", "not_before",
        "wait_quota", "traceparent", "may_ask", "asks", "exchanges", "took",
        "queue_entry",
    }  # fmt: skip

    assert set(Request.fields) == counts | bookkeeping


def test_deadline_priority_and_attempts_do_not_count():
    hasty = which(timeout=5, priority="high", max_attempts=9, requester="another")

    assert differences(hasty, which()) == []


@pytest.mark.parametrize("field", ["arguments", "variables", "answer_schema"])
def test_true_is_not_one(field):
    """To Python they are equal, and to a schema's `const` they are not."""
    one, other = which(**{field: {"const": 1}}), which(**{field: {"const": True}})

    assert len(differences(one, other)) == 1


def test_the_line_of_a_node_does_not_count():
    moved = NODE.with_(line=9)
    changed = NODE.with_(text="def f(): return 1")

    assert differences(which(node=moved), which(node=NODE)) == []
    assert differences(which(node=changed), which(node=NODE)) == ["node"]


def test_the_route_that_answers_counts():
    claim = Claim(session="s", host=this_process(), at=1, route="claude")

    other = ["route ('claude' there, 'host' here)"]
    assert differences(which(), which(claim=claim)) == other
    by: Route = "claude"
    assert differences(which(), which(), by=by, routes=("host", "claude")) == []


def test_a_field_that_a_definition_filled_in_equals_one_left_open():
    """A dropped request is not filled in before its launch."""
    by = Applied(digest="0", prompt="Which?")
    filled_in = which(model="haiku", variables={"a": 1}, definition=by)

    assert differences(filled_in, which()) == []
    assert differences(which(), filled_in) == []
    other = ["model ('opus' there, 'haiku' here)"]
    assert differences(filled_in, which(model="opus")) == other
