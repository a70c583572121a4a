"""What was answered and closed is found by its words."""

import pytest
from storeworld import answer, claim_all, request

from bridge.tasks import memories
from bridge.tasks.database import TasksDamaged


def answered(tools, prompt: str, said: str, **fields) -> str:
    """Have an agent answer."""
    asked = tools.store.submit(request(prompt=prompt, **fields)).request_id
    for mine in claim_all(tools.store):
        tools.store.publish(answer(mine, said), source="test")
    return asked


def found(tools, query: str, **more) -> list[str]:
    memories = tools("search_memories", query=query, **more)["memories"]
    return [each["id"] for each in memories]


def test_nothing_is_there_yet(tools):
    nothing = {"memories": [], "count": 0, "notReadYet": 0}
    assert tools("search_memories", query="uploads") == nothing
    assert not (tools.store.place.state / "memories.db").exists()


def test_answers_and_closed_tasks_are_found(tools):
    asked = answered(tools, "Where is the limit?", "It is in uploads.py.")
    tools.task("Limit uploads", description="To ten megabytes.")
    task = tools("close_task", task_id="#1", reason="in app/limits.py")

    result = tools("search_memories", query="uploads")

    assert {each["id"] for each in result["memories"]} == {asked, task["uuid"]}
    assert task["uuid"] in found(tools, "limits.py")
    (one,) = [each for each in result["memories"] if each["kind"] == "answer"]
    assert one["title"] == "general-purpose: Where is the limit?"
    assert "It is in uploads.py." in one["excerpt"]
    assert isinstance(one["at"], int)


def test_the_more_words_the_better(tools):
    answered(tools, "one", "the parser of the flow language")
    best = answered(tools, "two", "the parser forgets a quote of the flow language")

    assert found(tools, "parser quote")[0] == best
    assert len(found(tools, "parser", limit=1)) == 1


def test_open_tasks_are_no_memories(tools):
    tools.task("Limit uploads")
    assert found(tools, "uploads") == []

    tools("close_task", task_id="#1")
    assert len(found(tools, "uploads")) == 1

    tools("reopen_task", task_id="#1")
    assert found(tools, "uploads") == []


def test_what_was_removed_is_not_found(tools):
    asked = answered(tools, "one", "uploads")
    assert found(tools, "uploads") == [asked]

    (tools.store.place.state / "responses" / f"{asked}.json").unlink()

    assert found(tools, "uploads") == []


def test_a_failure_is_no_memory(tools):
    from bridge.api.wait import cancel

    asked = tools.store.submit(request(prompt="uploads")).request_id
    cancel(tools.store, asked)

    assert found(tools, "uploads") == []


@pytest.mark.parametrize(
    "query",
    ['"', "AND", "uploads AND", "NEAR(", "title:", "*", "^a", "(", "-", "a OR", "\0",
     "'; DROP TABLE texts; --", "{title body}: x", "é", "x" * 2000, "🙂", "" ],
)  # fmt: skip
def test_a_question_is_words_and_no_language(tools, query):
    answered(tools, "one", "the limit of uploads")

    tools("search_memories", query=query)

    assert found(tools, "uploads") != []


def test_endings_do_not_matter(tools):
    asked = answered(tools, "one", "Two validators were started in café.")

    for query in ("validator", "valid", "starting", "cafe"):
        assert found(tools, query) == [asked]


def test_so_much_is_read_at_once(tools, monkeypatch):
    monkeypatch.setattr(memories, "MAX_ADDED", 2)
    for number in range(5):
        answered(tools, f"number {number}", "uploads")

    left = [tools("search_memories", query="uploads") for _ in range(3)]

    assert [each["count"] for each in left] == [2, 4, 5]
    assert [each["notReadYet"] for each in left] == [3, 1, 0]


def test_an_index_that_was_removed_is_made_again(tools):
    asked = answered(tools, "one", "uploads")
    found(tools, "uploads")
    index = tools.store.place.state / "memories.db"
    index.unlink()

    assert found(tools, "uploads") == [asked]
    index.write_bytes(b"nonsense" * 1000)
    with pytest.raises(TasksDamaged, match="remove it: it is made again"):
        found(tools, "uploads")


def test_answers_of_any_form_are_read(tools):
    asked = tools.store.submit(request()).request_id
    parsed = {"files": [{"path": "uploads.py", "lines": 12}], "none": None}
    for mine in claim_all(tools.store):
        said = answer(mine).with_(raw_output="…", parsed_output=parsed)
        tools.store.publish(said, source="test")

    assert found(tools, "uploads.py") == found(tools, "12") == [asked]
