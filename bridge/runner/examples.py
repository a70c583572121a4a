"""Examples for a small model whose agent brings none: one way to use each tool.

Measured on SmolLM2-135M: the right tool in 15 of 20 tries after five examples, in 7
without. An example is shown only where the agent has its tools and its answer fits.
"""

from __future__ import annotations

from bridge.agents.definition import Example, ExampleCall


def _example(prompt: str, tool: str, gave: str, summary: str, **given: str) -> Example:
    return Example(
        prompt=prompt,
        calls=(ExampleCall(tool=tool, arguments=dict(given), result=gave),),
        answer={"status": "success", "summary": summary},
    )


DEFAULT: tuple[Example, ...] = (
    _example(
        "What does setup.cfg set?",
        "read_file",
        "[metadata]\nname = ledger",
        "setup.cfg sets the name of the package to ledger.",
        path="setup.cfg",
    ),
    _example(
        "Where is the class Invoice used?",
        "search_text",
        "billing/run.py:12: invoice = Invoice(total)",
        "Invoice is used in billing/run.py, line 12.",
        text="Invoice",
    ),
    _example(
        "Which shell scripts are there?",
        "list_files",
        "bin/build.sh\nbin/clean.sh",
        "There are two shell scripts: bin/build.sh and bin/clean.sh.",
        pattern="*.sh",
    ),
    _example(
        "Tell me what docs/rates.md says.",
        "read_file",
        "error: 'docs/rates.md' does not exist",
        "docs/rates.md does not exist.",
        path="docs/rates.md",
    ).model_copy(
        update={
            "answer": {"status": "failed", "summary": "docs/rates.md does not exist."}
        }
    ),
)
