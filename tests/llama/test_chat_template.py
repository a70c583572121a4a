"""The model's own template writes a conversation; contents become no control words."""

import pytest
from ggufs import TEMPLATE
from hypothesis import given
from hypothesis import strategies as st

from bridge.agent_loop.chat_model import Message
from bridge.llama.chat_template import ChatTemplateFailed, PromptPiece, pieces_of
from bridge.llama.prompt_tokens import Prompt, prompt_of

SYSTEM, USER = Message("system", "be brief"), Message("user", "why?")
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}"
    "{% endif %}" + TEMPLATE
)


def joined(pieces: list[PromptPiece]) -> str:
    return "".join(piece.text for piece in pieces)


def test_a_conversation_is_written_by_the_template():
    """The template's text and the contents stay apart, in order."""
    assert pieces_of([SYSTEM, USER], TEMPLATE) == [
        PromptPiece("<|im_start|>system\n"),
        PromptPiece("be brief", 0),
        PromptPiece("<|im_end|>\n<|im_start|>user\n"),
        PromptPiece("why?", 1),
        PromptPiece("<|im_end|>\n<|im_start|>assistant\n"),
    ]


def test_a_base_model_gets_a_plain_form():
    assert joined(pieces_of([SYSTEM, USER], None)) == (
        "### system:\nbe brief\n\n### user:\nwhy?\n\n### assistant:\n"
    )


def test_without_a_system_role_its_text_goes_before_the_first_question():
    """Gemma's template refuses a system message."""
    pieces = pieces_of([SYSTEM, USER], NO_SYSTEM)

    assert pieces == [
        PromptPiece("<|im_start|>user\n"),
        PromptPiece("be brief\n\n", 0),
        PromptPiece("why?", 1),
        PromptPiece("<|im_end|>\n<|im_start|>assistant\n"),
    ]


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages[0]['content'] }}",
        "{{ messages[1]['content'] }}{{ messages[0]['content'] }}",
        "{{ nothing.at.all }}",
        "{% for m in messages %}",
        "{{ messages.append(1) }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ raise_exception('not this') }}",
    ],
    ids=["leaves out", "moves", "undefined", "syntax", "changes", "escapes", "refuses"],
)
def test_error_template(template):
    """A template may come from anywhere: it fails by name, and cannot escape."""
    with pytest.raises(ChatTemplateFailed) as caught:
        pieces_of([USER, USER], template)

    assert str(caught.value).startswith("the model's chat template")


class Letters:
    """A tokenizer of letters that knows control words, even in plain text."""

    controls = {"<|im_start|>": 1, "<|im_end|>": 2, "<s>": 3}  # noqa: RUF012
    bos: int | None = None

    def tokenize(self, text: str) -> list[int]:
        for word, token in self.controls.items():
            if word in text:
                before, _, after = text.partition(word)
                return [*self.tokenize(before), token, *self.tokenize(after)]
        return [ord(letter) + 10 for letter in text]


def spelled(prompt: Prompt) -> str:
    words = {token: word for word, token in Letters.controls.items()}
    return "".join(words.get(t) or chr(t - 10) for t in prompt.tokens)


@given(st.lists(st.sampled_from(["<|im_end|>", "<", "|im_start|>", "<s>", "a", "\n"])))
def test_contents_never_become_control_tokens(said):
    """Otherwise a file could end the user's message and begin the model's."""
    text = "".join(said)
    plain, prompt = (
        prompt_of(pieces_of([said], TEMPLATE), Letters(), prefix=0)
        for said in (SYSTEM, Message("system", text))
    )

    of_template = [t for t in plain.tokens if t < 10]
    assert [t for t in prompt.tokens if t < 10] == of_template
    assert spelled(prompt) == spelled(plain).replace("be brief", text)


def test_the_shared_part_ends_before_the_first_message_of_the_request():
    """It ends with a control token: text after it is tokenized with the content."""
    pieces = pieces_of([SYSTEM, USER], TEMPLATE)

    prompt = prompt_of(pieces, Letters(), prefix=1)

    shared = Prompt(prompt.tokens[: prompt.shared], 0)
    assert spelled(shared) == "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>"
    assert prompt_of(pieces, Letters(), prefix=0).shared == 1
    whole = prompt_of(pieces, Letters(), prefix=2)
    assert spelled(Prompt(whole.tokens[: whole.shared], 0)).endswith("<|im_start|>")


SHARED = (
    "<|im_start|>user\nbe brief\n\nhow?<|im_end|>\n"
    "<|im_start|>assistant\nso<|im_end|>\n<|im_start|>"
)
EXAMPLE = (Message("user", "how?"), Message("assistant", "so"))


@pytest.mark.parametrize(
    ("before", "shared"),
    [((SYSTEM,), "<|im_start|>user\nbe brief\n\n"), ((SYSTEM, *EXAMPLE), SHARED)],
    ids=["system", "examples"],
)
def test_without_a_system_role_no_task_is_shared(before, shared):
    """Otherwise each task would leave a state on disk that no other can use."""
    tasks = [Message("user", "why?"), Message("user", "when?")]

    one, two = (
        prompt_of(pieces_of([*before, task], NO_SYSTEM), Letters(), prefix=len(before))
        for task in tasks
    )

    assert spelled(Prompt(one.tokens[: one.shared], 0)) == shared
    assert one.tokens[: one.shared] == two.tokens[: two.shared]


def test_the_first_token_is_written_once():
    """Some templates write it, some vocabularies add it, and with some both do."""
    vocabulary = Letters()
    vocabulary.bos = 3

    both = prompt_of(pieces_of([USER], "<s>" + TEMPLATE), vocabulary, prefix=0)
    one = prompt_of(pieces_of([USER], TEMPLATE), vocabulary, prefix=0)

    assert both.tokens == one.tokens
    assert both.tokens.count(3) == 1
