"""The text at the end of every prompt."""

from __future__ import annotations

from bridge.protocol.contract import full_prompt
from bridge.protocol.judge import judge
from bridge.protocol.request import Request

EXPECTED = """\
Which modules lack tests?

## How to answer (hostbridge)

A program is waiting for your answer and reads it without a person in between.
Your final message, word for word, is the answer (where a SubagentHandback tool is \
offered, its message is).
It must be exactly one JSON value that satisfies the JSON Schema below: no prose \
around it, no second value.
If you cannot do the work, still answer in this form and say why.

```json
{"type": "array", "items": {"type": "string"}}
```
"""


def test_the_contract_follows_the_prompt():
    schema = {"type": "array", "items": {"type": "string"}}

    assert full_prompt("Which modules lack tests?", schema) == EXPECTED


def test_the_default_answer_explains_its_fields():
    text = full_prompt("Which?", None)

    assert "`status` is success, partial, failed or blocked" in text
    assert '"required": ["status", "summary"]' in text


def test_the_contract_itself_is_never_an_answer():
    request = Request(request_id="a", prompt="Which?")

    assert judge(request, full_prompt("Which?", None)).code == "prompt_echo"
