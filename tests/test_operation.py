"""An operation is said once: what it takes, by which names, within which limits."""

from typing import Annotated, TypedDict, Unpack

import pytest

from bridge.errors import InvalidRequest
from bridge.operation import Operation, Says


class More(TypedDict, total=False):
    words: Annotated[list[str], Says("Some words.", most=2)]


def count_up(
    where: list[str],
    ref: Annotated[str | int, Says("Which.", name="task_id", also=("id",))],
    *,
    most: Annotated[int | None, Says("At most.", least=1, most=9)] = None,
    holder: object = None,
    **more: Unpack[More],
) -> object:
    """Count up.

    Raises:
        ValueError: never.
    """
    return where, ref, most, holder, more


COUNT = Operation(count_up, without=("holder",), changes=True)


def test_a_function_says_all_of_it():
    assert (COUNT.name, COUNT.about) == ("count_up", "Count up.")
    said = COUNT.schema["properties"].items()
    texts = {"task_id": "Which.", "most": "At most.", "words": "Some words."}
    assert {name: each["description"] for name, each in said} == texts
    assert COUNT.schema["required"] == ["task_id"]
    assert COUNT.schema["additionalProperties"] is False


@pytest.mark.parametrize("name", ["task_id", "taskId", "id"])
def test_an_argument_has_the_names_that_others_use(name):
    found = COUNT.call([], COUNT.checked({name: "#1", "session_id": "s"}))

    assert found == ([], "#1", None, None, {})


def test_a_list_may_be_the_text_of_its_json():
    """Some clients write what is no text like that."""
    checked = COUNT.checked({"id": "[1]", "most": "3", "words": '["a", "b"]'})

    assert COUNT.call([], checked) == ([], "[1]", 3, None, {"words": ["a", "b"]})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "count_up: task_id: field required"),
        ({"id": 1, "mots": 2}, "count_up has no argument 'mots'; did you mean 'most'?"),
        ({"id": 1, "holder": 2}, "no argument 'holder'; known: task_id, most, words"),
        ({"id": 1, "most": 10}, "count_up: most: must be less than or equal to 9"),
        ({"id": 1, "words": ["a"] * 3}, "words: list should have at most 2 items"),
    ],
)
def test_error_what_is_wrong_is_named(given, says):
    with pytest.raises(InvalidRequest) as caught:
        COUNT.checked(given)

    assert says in str(caught.value)


def test_names_are_checked_before_values_are_there():
    """A file that calls it is read long before."""
    assert COUNT.wrong_names(["taskId", "words"]) == {}
    assert COUNT.wrong_names(["word"]) == {
        "word": "count_up has no argument 'word'; did you mean 'words'?",
        "": "count_up needs task_id",
    }
