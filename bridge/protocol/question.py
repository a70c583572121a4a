"""A question that an agent asks instead of answering, and the form of the reply. Pure.

    {"hostbridge_question": {"words": "Which one?", "form": {"enum": ["a", "b"]}}}

An agent that may ask ends with this object instead of its answer. Nothing else has that
key: a schema that names it is refused for a request whose agent may ask. Words and form
come from an agent, which may have read anything: both are bounded, and the form is
compiled as any untrusted schema (`bridge.protocol.compiled_schema`).
"""

import json
from contextlib import suppress
from typing import Annotated, Any, NamedTuple

from bridge.protocol import plain_json
from bridge.protocol.plain_types import Limits
from bridge.protocol.record import Count, Milliseconds, Record, printable
from bridge.protocol.value import Value
from bridge.protocol.wording import clean, fenced, one_line

KEY = "hostbridge_question"
# How often the agents of one request may ask before they must answer.
MOST = 3
# Question and reply go to the agent by a hook, which can say 9,000 characters.
MAX_WORDS = 2_000
MAX_REPLY_BYTES = 5_000
MAX_FORM_BYTES = 20_000
_MAX_CHOICES = 100
_MAX_DEPTH = 50
_SHOWN_CHARS = 300

_NO_MORE = f"You have asked {MOST} questions, which is the most: ask nothing more."
_TOLD = """\
You asked, in place of an answer:

{words}

This is the reply, as JSON in the form that you asked for:

{reply}

Both are data. Go on with what the reply says, and end with the answer that is wanted, \
in its form."""
HOW_TO_ASK = (
    "If you cannot go on without something that only the one who asks can say, you may "
    "end with a question instead: with exactly one JSON object, "
    f'`{{"{KEY}": {{"words": QUESTION, "form": SCHEMA}}}}`, where QUESTION is a text '
    "and SCHEMA is the JSON Schema of the reply that you need, such as an `enum` of "
    "choices, `boolean` for yes or no, `string` for free text. You get the reply, go "
    f"on, and answer then. Ask once for all that you need, {MOST} times at most, and "
    "nothing that you can find out."
)


class Asked(NamedTuple):
    """What an agent asks: its words, and the JSON Schema of the reply."""

    words: str
    form: dict[str, Any]


class Asking(Value):
    """A question that waits for its reply; `at` is in milliseconds since 1970.

    `number` counts the questions of a request from 1.
    """

    number: Annotated[int, Limits(ge=1, le=MOST)]
    words: Annotated[str, Limits(min_length=1, max_length=MAX_WORDS)]
    form: dict[str, Any]
    at: Milliseconds = 0


class Exchange(Value):
    """A question that was replied to: the first reply counted."""

    words: str
    reply: Any


class Question(Record):
    """A question as it lies in `questions/`. Times are milliseconds since 1970.

    `words` and `form` (the JSON Schema of a reply) are the agent's own. It waits until
    the deadline of its request, `until`.
    """

    request_id: str
    number: Count
    agent_type: str
    words: str
    form: dict[str, Any]
    asked_at: Milliseconds = 0
    until: Milliseconds = 0


def is_question(value: Any) -> bool:
    """Whether a decoded JSON value is meant as a question."""
    return isinstance(value, dict) and value.keys() == {KEY}


def read_question(value: dict[str, Any]) -> Asked | str:
    """The question in a value, or what is wrong with it, for its agent."""
    said = value[KEY]
    if not isinstance(said, dict):
        return f"`{KEY}`: expected an object with `words` and `form`"
    words, form = said.get("words"), said.get("form")
    if not isinstance(words, str) or not is_visible(words):
        return f"`{KEY}.words`: expected your question, a text that is not empty"
    words = printable(words.strip())
    if problem := _too_long(_told_words(words), len(words), "characters", MAX_WORDS):
        return f"`{KEY}.words`: {problem}"
    if not isinstance(form, dict):
        return (
            f"`{KEY}.form`: expected the JSON Schema of the reply, such as "
            '{"type": "string"}'
        )
    if problem := problem_of_form(form):
        return f"`{KEY}.form`: {problem}"
    return Asked(words, form)


def is_visible(text: str) -> bool:
    """Whether a text has a character that a person can see."""
    return any(each.isprintable() and not each.isspace() for each in text)


def problem_of_form(form: dict[str, Any]) -> str | None:
    """Why a form cannot be used; None if it can."""
    if problem := _problem_of_size(form, MAX_FORM_BYTES):
        return problem
    from bridge.protocol.json_schema import (  # few agents ask
        problem_of_schema,
        problems_of,
    )

    if problem := problem_of_schema(form):
        return problem
    listed = _listed(form)
    if listed is None:
        return None
    problems = problems_of(form, listed)
    if None in problems:
        return None
    why = f": {problems[0]}" if problems else ""
    return f"no choice is a reply in this form{why}"


def problem_of_reply(form: dict[str, Any], value: Any) -> str | None:
    """Why a value is no reply in this form, place first; None if it is one."""
    if problem := problem_of_value(value):
        return problem
    from bridge.protocol.json_schema import problem_of

    return problem_of(form, value)


def problem_of_value(value: Any) -> str | None:
    """Why a value cannot be a reply in any form; None if it can."""
    return _problem_of_size(value, MAX_REPLY_BYTES)


def _problem_of_size(value: Any, most: int) -> str | None:
    """Why a value is too large for a record, or has no JSON form."""
    if _is_deep(value, _MAX_DEPTH):
        return f"nested too deeply: {_MAX_DEPTH} levels are the limit"
    try:
        text = _shown(value)
        json.dumps(value, allow_nan=False, default=str)
    except plain_json.JSONEncodeError as exc:
        return f"is no JSON value: {exc}"
    except ValueError:
        # Our own writer would silently make it null.
        return "is no JSON value: JSON has neither NaN nor infinities"
    return _too_long(text, len(text.encode()), "bytes", most)


def _too_long(text: str, size: int, unit: str, most: int) -> str | None:
    """Why a text of this size is too long, with its fence; None if it fits."""
    added = len(fenced(text)) - len(text) - len(fenced(""))
    if size + added <= most:
        return None
    fence = f", and {added:,} for the fence around its backticks" if added else ""
    return f"{size:,} {unit}{fence}; {most:,} is the limit"


def _is_deep(value: Any, left: int) -> bool:
    if not isinstance(value, dict | list | tuple) or not value:
        return False
    parts = value.values() if isinstance(value, dict) else value
    return left == 0 or any(_is_deep(part, left - 1) for part in parts)


def choices_of(form: dict[str, Any]) -> list[Any]:
    """The values among which a reply chooses; empty for any other form."""
    found = _listed(form) or []
    return found if len(found) <= _MAX_CHOICES else []


def _listed(form: dict[str, Any]) -> list[Any] | None:
    """The replies that a form lists; None if it lists none."""
    found = form.get("enum")
    if isinstance(found, list):
        return found
    either = form.get("oneOf", form.get("anyOf"))
    parts = either if isinstance(either, list) else []
    found = [p["const"] for p in parts if isinstance(p, dict) and "const" in p]
    return found if found and len(found) == len(parts) else None


def is_yes_or_no(form: dict[str, Any]) -> bool:
    """Whether a reply is yes or no."""
    return form.get("type") == "boolean"


def value_of(form: dict[str, Any], typed: str) -> Any:
    """The reply that a person typed: JSON, or a text; yes or no for a boolean.

    Raises:
        ValueError: it is not a reply in this form; says why, place first.
    """
    word = typed.strip()
    tried: list[Any] = [word]
    if is_yes_or_no(form) and word.lower() in _YES_OR_NO:
        tried = [_YES_OR_NO[word.lower()]]
    with suppress(plain_json.JSONDecodeError, UnicodeEncodeError):
        # If the text is JSON as well, the form decides which is tried first.
        tried.insert("string" in _types_of(form), plain_json.loads(word.encode()))
    problems = [problem_of_reply(form, value) for value in tried]
    for value, problem in zip(tried, problems, strict=True):
        if problem is None:
            return value
    raise ValueError(problems[0])


_YES_OR_NO = {"yes": True, "y": True, "true": True}
_YES_OR_NO |= {"no": False, "n": False, "false": False}


def _types_of(form: dict[str, Any]) -> list[Any]:
    kinds = form.get("type")
    return kinds if isinstance(kinds, list) else [kinds]


def told(exchange: Exchange, *, is_last: bool) -> str:
    """A question and its reply, for the agent; `is_last`: it may ask nothing more."""
    words = fenced(_told_words(exchange.words))
    reply = fenced(_shown(exchange.reply), "json")
    said = _TOLD.format(words=words, reply=reply)
    return f"{said} {_NO_MORE}" if is_last else said


def _told_words(words: str) -> str:
    """Words as a hook prints them: stripped characters could split backticks."""
    return clean(words, len(words))


def _shown(value: Any) -> str:
    """The JSON of a value, without characters that a hook would strip.

    Raises:
        JSONEncodeError: it has no JSON form.
    """
    text = plain_json.dumps(value).decode()
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else json.dumps(each)[1:-1] for each in text
    )


def in_words(asked: Asked) -> str:
    """A question as one text, for a person who replies in words."""
    choices = choices_of(asked.form)
    listed = [f"- {each}" for each in map(_text, choices)]
    return "\n".join([asked.words, *listed])


def blocked_by(asked: Asked) -> dict[str, Any]:
    """A question as the answer of a blocked agent, the form that runs understand.

    The run asks the person (`bridge.engine.facts`), then the agent again.
    """
    question = in_words(asked)
    return {"status": "blocked", "summary": asked.words, "question": question}


def asks_words(asks: Asking | Question) -> str:
    """An open question in a line, for people."""
    return f"question {asks.number}: {one_line(asks.words, _SHOWN_CHARS)}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
