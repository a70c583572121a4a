"""Write a conversation with the model's own template, in pieces.

The template is rendered with a marker in place of each message's content, then cut at
the markers. So the template's text and the contents stay apart, whatever those are:
only the template's own text may become control tokens.

The template comes with the model, from anywhere, so it runs in jinja2's sandbox.

Source: Hugging Face transformers, "Chat templates": `messages`,
`add_generation_prompt`, `bos_token`, `eos_token`, `raise_exception`, `strftime_now`;
blocks trimmed and stripped on the left.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NoReturn

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from bridge.agent_loop.chat_model import Message

# For a base model, which was trained on no template.
PLAIN_TEMPLATE = (
    "{% for message in messages %}### {{ message['role'] }}:\n"
    "{{ message['content'] }}\n\n{% endfor %}"
    "{% if add_generation_prompt %}### assistant:\n{% endif %}"
)


class ChatTemplateFailed(Exception):
    """The model's chat template cannot write this conversation."""


@dataclass(frozen=True, slots=True)
class PromptPiece:
    """A part of the prompt, in order.

    Attributes:
        text: its text.
        message: the number of the message that it is the content of; None for the
            template's own text.
    """

    text: str
    message: int | None = None


def pieces_of(
    messages: Sequence[Message], template: str | None, *, bos: str = "", eos: str = ""
) -> list[PromptPiece]:
    """Write a conversation up to where the model continues.

    Without a template a plain one is used. If the template takes no system message, the
    text of that message goes before the first user's.

    Raises:
        TemplateFailed: the template refuses it, is broken, or leaves a message out.
    """
    nonce = secrets.token_hex(8)
    contents = [message.content for message in messages]
    shown = [
        {"role": message.role, "content": f"content{nonce}n{number}e"}
        for number, message in enumerate(messages)
    ]

    def render() -> list[PromptPiece]:
        environment = _environment()
        try:
            whole = environment.from_string(template or PLAIN_TEMPLATE).render(
                messages=shown, add_generation_prompt=True, bos_token=bos, eos_token=eos
            )
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError) as exc:
            raise ChatTemplateFailed(f"the model's chat template: {exc}") from None
        parts = re.split(f"content{nonce}n([0-9]+)e", whole)
        numbers = [int(number) for number in parts[1::2]]
        if numbers != list(range(len(messages))):
            raise ChatTemplateFailed(
                "the model's chat template leaves out or moves a message"
            )
        pieces = [PromptPiece(parts[0])]
        for number, text in zip(numbers, parts[2::2], strict=True):
            pieces += [PromptPiece(contents[number], number), PromptPiece(text)]
        return [piece for piece in pieces if piece.text]

    try:
        return render()
    except ChatTemplateFailed:
        if [message.role for message in messages[:2]] != ["system", "user"]:
            raise
        system, user = shown[:2]
        shown[:2] = [{"role": "user", "content": system["content"] + user["content"]}]
        contents[0] += "\n\n"
        return render()


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.now(UTC).strftime(form)
    return environment


def _refuse(why: str) -> NoReturn:
    raise jinja2.TemplateError(why)
