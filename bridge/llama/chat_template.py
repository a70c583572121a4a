"""A conversation as the model's own template writes it, its contents told apart.

The template is rendered with a mark in place of each content, then cut at the marks. So
what belongs to the template and what was said stay apart, whatever was said: only the
template's own text may become control tokens.

The template comes with the model, from anywhere: it runs in jinja2's sandbox.

Source: Hugging Face transformers, "Chat templates": `messages`,
`add_generation_prompt`, `bos_token`, `eos_token`, `raise_exception`, `strftime_now`;
blocks trimmed and stripped on the left.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NoReturn

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bridge.agent_loop.chat_model import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# For a base model: nothing that it was trained on, but plain for any.
PLAIN_TEMPLATE = (
    "{% for message in messages %}### {{ message['role'] }}:\n"
    "{{ message['content'] }}\n\n{% endfor %}"
    "{% if add_generation_prompt %}### assistant:\n{% endif %}"
)


class TemplateFailed(Exception):
    """The model's chat template cannot write this conversation."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the prompt, in order.

    Attributes:
        text: what it says.
        message: which message's content it is, as it was counted when we were asked;
            None for the template's own text.
    """

    text: str
    message: int | None = None


def pieces_of(
    messages: Sequence[Message], template: str | None, *, bos: str = "", eos: str = ""
) -> list[Piece]:
    """Write a conversation up to where the model goes on.

    `template` None writes it plainly. A system message goes in front of the first
    user's where the template knows none.

    Raises:
        TemplateFailed: the template refuses it, is broken, or leaves a message out.
    """
    template = template or PLAIN_TEMPLATE
    try:
        return _pieces(messages, template, bos, eos)
    except TemplateFailed:
        merged = _without_system(messages)
        if merged is None:
            raise
        return list(_apart(messages, _pieces(merged, template, bos, eos)))


def _pieces(
    messages: Sequence[Message], template: str, bos: str, eos: str
) -> list[Piece]:
    nonce = secrets.token_hex(8)
    marks = [f"content{nonce}n{number}e" for number in range(len(messages))]
    shown = [
        {"role": message.role, "content": mark}
        for message, mark in zip(messages, marks, strict=True)
    ]
    try:
        whole = (
            _environment()
            .from_string(template)
            .render(
                messages=shown, add_generation_prompt=True, bos_token=bos, eos_token=eos
            )
        )
    except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError) as exc:
        raise TemplateFailed(f"the model's chat template: {exc}") from None
    parts = re.split(f"content{nonce}n([0-9]+)e", whole)
    numbers = [int(number) for number in parts[1::2]]
    if numbers != list(range(len(messages))):
        raise TemplateFailed("the model's chat template leaves out or moves a message")
    pieces = [Piece(parts[0])]
    for number, text in zip(numbers, parts[2::2], strict=True):
        pieces += [Piece(messages[number].content, number), Piece(text)]
    return [piece for piece in pieces if piece.text]


def _without_system(messages: Sequence[Message]) -> list[Message] | None:
    """The system's words put before the first user's; None where there are none."""
    if len(messages) < 2 or [m.role for m in messages[:2]] != ["system", "user"]:  # noqa: PLR2004 - the two
        return None
    _, user, *rest = messages
    return [Message("user", _above(messages) + user.content), *rest]


def _above(messages: Sequence[Message]) -> str:
    """What stands before the first user's words where a template knows no system."""
    return f"{messages[0].content}\n\n"


def _apart(messages: Sequence[Message], pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces of what was merged, counted as before.

    Who shares the system's words does not share the first user's.
    """
    for piece in pieces:
        if piece.message is None:
            yield piece
        elif piece.message > 0:
            yield Piece(piece.text, piece.message + 1)
        else:
            yield Piece(_above(messages), 0)
            if messages[1].content:
                yield Piece(messages[1].content, 1)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = _strftime_now
    return environment


def _refuse(why: str) -> NoReturn:
    raise jinja2.TemplateError(why)


def _strftime_now(form: str) -> str:
    return datetime.now(UTC).strftime(form)
