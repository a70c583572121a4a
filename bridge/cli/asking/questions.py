"""What waits for you: agents' questions, checkpoints of runs, requests that are held.

Each is listed with who asks, since when and until when, and with the command that
replies: `hostbridge reply`. To an agent's question any program may reply, too, by a
file beside the question's, in `questions/` of the state (`hostbridge where`).

For example:
  hostbridge questions
  hostbridge questions --json
"""

from argparse import Namespace
from itertools import chain

from bridge.api.bridge import Bridge
from bridge.api.inbox import Waiting, inbox
from bridge.cli.asking.question_prompt import question_lines
from bridge.cli.common.options import AS_JSON
from bridge.cli.common.output import (
    ago,
    complain,
    indented,
    say,
    say_json,
    span,
    visible,
)
from bridge.cli.screen.screen import Styled
from bridge.protocol.wording import one_line

OPTIONS = (AS_JSON,)
_EXCERPT_CHARS = 300
_HELD = "held, since its asker wants more at once than `fan_out` allows; may it go on?"
_HOW = {"question": "VALUE", "checkpoint": "yes|no", "held": "yes|no"}


def command(options: Namespace) -> None:
    """Print each, the oldest first."""
    bridge = Bridge.open()
    found = inbox(bridge.store)
    now_ms = bridge.store.now_ms()
    for each in found:
        if options.as_json:
            say_json(each.to_data())
        else:
            say(*waiting_lines(each, now_ms))
    if not found and not options.as_json:
        complain("nothing waits for you here")


def waiting_lines(each: Waiting, now_ms: int) -> list[str]:
    """One thing that waits: who asks, since when, what, and what replies."""
    facts = [visible(each.who), ago((now_ms - each.asked_at) / 1000)]
    if each.until is not None:
        facts.append(f"{span((each.until - now_ms) / 1000)} left")
    if each.question:
        words = question_lines(each.question)
    elif each.kind == "held":
        excerpt = visible(one_line(each.words, _EXCERPT_CHARS))
        words = [f"    {_HELD}", f"    {excerpt}"]
    else:
        words = indented(visible(each.words, kept="\n")).splitlines()
    head = Styled(f"{each.id}  {', '.join(facts)}", "bold")
    reply = f"    to reply: hostbridge reply {each.id} {_HOW[each.kind]}"
    return [*chain([head], words, [reply])]
