"""The text at the end of every prompt."""

from bridge.protocol.contract import again, full_prompt, prompt_digest

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


def test_a_compacted_agent_reads_the_contract_again():
    """Without the schema, if it would not fit."""
    schema = {"type": "array", "items": {"type": "string"}}
    contract = EXPECTED.partition("\n\n")[2]
    head, shape = contract.split("```json")
    begin = (
        "This conversation was compacted. The request that you work on is still open, "
        "and what it said about your answer still holds:\n\n"
    )
    size = len(begin + contract)

    whole, short = (again(schema, limit) for limit in (size, size - 1))

    assert whole == f"{begin}{head}```json{shape}"
    assert short.startswith(f"{begin}{head}The schema is too long to be repeated here.")
    assert "```" not in short


def test_a_prompt_is_known_by_its_sha_256():
    assert prompt_digest("é") == (
        "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"
    )
