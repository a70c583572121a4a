"""What agents ask, and wait for: each question with the command that replies.

A question waits until the deadline of its request. `hostbridge reply` replies, and so
does any program that writes the file beside the question's, in `questions/` of the
state (`hostbridge where`).

For example:
  hostbridge questions
  hostbridge questions --json
"""

from argparse import Namespace

from bridge.api.bridge import Bridge
from bridge.cli.asking.question_prompt import question_lines
from bridge.cli.common.options import AS_JSON
from bridge.cli.common.output import ago, complain, say, say_json, span, visible
from bridge.cli.screen.screen import Styled
from bridge.protocol.question import Question

OPTIONS = (AS_JSON,)


def command(options: Namespace) -> None:
    """Print each, the oldest first."""
    bridge = Bridge.open()
    found = bridge.questions()
    now_ms = bridge.store.now_ms()
    for question in found:
        if options.as_json:
            say_json(question)
        else:
            _print(question, now_ms)
    if not found and not options.as_json:
        complain("no agent asks anything here")


def _print(question: Question, now_ms: int) -> None:
    asked = ago((now_ms - question.asked_at) / 1000)
    left = span((question.until - now_ms) / 1000)
    agent = visible(question.agent_type)
    say(
        Styled(f"{question.request_id}  {agent}, {asked}, {left} left", "bold"),
        *question_lines(question),
        f"    to reply: hostbridge reply {question.request_id} VALUE",
    )
