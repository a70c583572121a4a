"""How an Agent call names a request: by a token, and by its description. Pure.

A model that is asked to call Agent with a token often wraps it in words, quotes or a
fence. A token means nothing to an agent, so none may start with one; but a text about a
token may be the user's own.

The description is ours: when a person stops an agent, the request's id is only there.

What we tell the host's model contains only checked ids: the contents of a request
(prompt, requester, task) may come from anywhere, and the model reads this as its user's
wish.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from bridge.bound.gate import DESCRIBED, TOKEN

PREFIX = TOKEN.decode()
# Characters that may be left beside a token: no words.
_MARKS = " \t\r\n`'\"*_~<>()[]{}.,;:!?"
# A text with more words than this beside its tokens has a task of its own.
MAX_AROUND = 200

_BEFORE = r"(?<![A-Za-z0-9])bridge:\s?"
# For a known id, a model may also write our whole name before it.
_BEFORE_KNOWN = r"(?<![A-Za-z0-9])(?:host)?bridge:[\W_]{0,4}"
# Compiled by whom it concerns: that takes longer than to import this module.
_TOKEN = rf"(?i){_BEFORE}([A-Za-z0-9_-]{{1,128}})(?![A-Za-z0-9_-])"


def mentions(text: str) -> bool:
    """Whether a text can contain a token: cheap, for all the calls without one."""
    return PREFIX in text.lower()


def offered_in(text: str, offered: Iterable[str]) -> list[str]:
    """The offered ids that a text names as tokens, in any letter case."""
    return [each for each in offered if _names(text, each)]


def _names(text: str, request_id: str) -> bool:
    # Emphasis and dashes may follow, but no further characters of an id.
    after = r"(?![_-]*[A-Za-z0-9])"
    return bool(re.search(_BEFORE_KNOWN + re.escape(request_id) + after, text, re.I))


def find_bare(text: str) -> str | None:
    """The id of a text that is one token and nothing else but marks."""
    found = find_all(text)
    return found[0] if len(found) == 1 and not _around(text) else None


def find_all(text: str) -> list[str]:
    """The ids of the tokens in a text, each once."""
    return list(dict.fromkeys(re.findall(_TOKEN, text)))


def is_wrapped(text: str) -> bool:
    """Whether a text is tokens with a few words around them."""
    return mentions(text) and len(_around(text)) <= MAX_AROUND


def _around(text: str) -> str:
    return " ".join(re.sub(_TOKEN, " ", text).strip(_MARKS).split())


def describe(request_id: str, who: str) -> str:
    """The description of the call for a request that somebody has made.

    The client quotes it in notices that its model may read: no room for marks in it.
    """
    plain = re.sub(r"[^\w ().:/@-]", "", who)
    return f"{DESCRIBED}{plain} [{request_id}]"


def described_ids(text: str) -> list[str]:
    """The request ids in a text that quotes such descriptions."""
    return re.findall(DESCRIBED + r"[^\"\]]*\[([A-Za-z0-9_-]{1,128})\]", text)


INTRODUCTION = (
    "The user has installed hostbridge, which lets programs on this machine ask agents "
    "of this session. When a hostbridge notice names calls, make each once, "
    "exactly as written, in one message, then go on with what you were doing; hooks "
    "fill in the prompt and deliver the answer."
)


def instruction(
    ids: Sequence[str], asked_again: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Tell the model which calls to make.

    `asked_again` is the agent of each request that goes to one which has answered.
    """
    new = [agent_call(each) for each in ids if each not in asked_again]
    more = [message_call(i, asked_again[i]) for i in ids if i in asked_again]
    said = []
    if new:
        said.append(f"hostbridge: call Agent once with {_lines(new)}")
    if more:
        said.append(f"hostbridge: {_LOAD}call SendMessage once with {_lines(more)}")
    return "\n\n".join(said)


# The client lists this tool by its name only.
_LOAD = "load SendMessage if you have not yet (ToolSearch, select:SendMessage), then "


def agent_call(request_id: str) -> str:
    """What to call Agent with, for a request."""
    return f'{{"description":"b","prompt":"{PREFIX}{request_id}"}}'


def message_call(request_id: str, agent_id: str) -> str:
    """What to call SendMessage with, for a request to an agent that has answered."""
    return f'{{"to":"{agent_id}","message":"{PREFIX}{request_id}"}}'


def _lines(calls: Sequence[str]) -> str:
    many = "these, all in one message" if len(calls) > 1 else "this"
    return "\n".join([f"{many}:", *calls])
