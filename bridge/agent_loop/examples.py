"""Examples for a small model whose agent brings none: two ways to use each tool.

An example is shown only if the agent has its tools and its answer fits. Their order
matters: this one was the best of sixteen on forty prompts kept for that purpose
(`scripts/bench_agents.py order`: 9 to 15 right on SmolLM2-135M). On forty others, which
were not used to choose (`choice`), tool and argument are right for 18, and without
examples for 2. Neither set may contain a prompt like one of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.agents.definition import Example, ExampleCall

if TYPE_CHECKING:
    from bridge.protocol.agent_output import AgentStatus


def _example(
    prompt: str,
    tool: str,
    result: str,
    summary: str,
    status: AgentStatus = "success",
    **arguments: str,
) -> Example:
    return Example(
        prompt=prompt,
        calls=(ExampleCall(tool=tool, arguments=dict(arguments), result=result),),
        answer={"status": status, "summary": summary},
    )


DEFAULT: tuple[Example, ...] = (
    _example(
        "Usages of the constant TAX_RATE, please.",
        "search_text",
        "nothing found",
        "TAX_RATE is not used.",
        text="TAX_RATE",
    ),
    _example(
        "What has been put into backup/weekly?",
        "list_files",
        "backup/weekly/a.tar\nbackup/weekly/b.tar",
        "backup/weekly has two files: a.tar and b.tar.",
        folder="backup/weekly",
    ),
    _example(
        "flake8 billing: any complaints?",
        "run_command",
        "exit code 1\nbilling/run.py:3:1: F401",
        "flake8 billing exited with 1: one complaint.",
        "failed",
        command="flake8 billing",
    ),
    _example(
        "I would like to see the folder reports.",
        "list_files",
        "reports/may.csv",
        "reports has one file: may.csv.",
        folder="reports",
    ),
    _example(
        "Does gradle build succeed?",
        "run_command",
        "exit code 0\nBUILD SUCCESSFUL",
        "gradle build exited with 0: it succeeds.",
        command="gradle build",
    ),
    _example(
        "Who is the author according to app/about.xml?",
        "read_file",
        "<author>Kim</author>",
        "The author is Kim.",
        path="app/about.xml",
    ),
    _example(
        "I want all lines with apply_discount.",
        "search_text",
        "shop/cart.py:12: total = apply_discount(total)",
        "apply_discount stands in shop/cart.py, line 12.",
        text="apply_discount",
    ),
    _example(
        "Explain etc/cron.conf to me.",
        "read_file",
        "every = 10m\njob = sync",
        "etc/cron.conf makes the job sync run every 10 minutes.",
        path="etc/cron.conf",
    ),
)
