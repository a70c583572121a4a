"""What the loop does differently for a small model. Pure.

The rest of the loop asks the policy, never how large the model is. The figures worked
best with SmolLM2-135M.
"""

import math
from dataclasses import dataclass

from bridge.agent_loop.examples import DEFAULT
from bridge.agents.definition import Example


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPolicy:
    """How a model is instructed and limited.

    Attributes:
        max_repeats: after this many repeats in a row, only the answer is offered.
        max_same_calls: how often the same call may be made in all.
        max_text_chars: of a text whose schema sets no limit.
        max_items: of a list whose schema sets no limit.
        caps_limits: these two also replace higher limits of the schema.
        examples: shown for an agent that brings none.
        instructions_first: the task stands alone, after the examples.
        claims_evidence: the model may claim evidence besides what was seen to run.
        is_held_to_rules: decoding allows only granted commands, and only a status that
            agrees with what ran. Other models may try, and get an error.
        shows_repeats: a repeated call and its refusal become part of the conversation.
    """

    max_repeats: int = 2
    max_same_calls: float = math.inf
    max_text_chars: int = 2_000
    max_items: int = 32
    caps_limits: bool = False
    examples: tuple[Example, ...] = ()
    instructions_first: bool = False
    claims_evidence: bool = True
    is_held_to_rules: bool = False
    shows_repeats: bool = True


LARGE = ModelPolicy()
SMALL = ModelPolicy(
    # It does not learn from errors, and would alternate between two calls until its
    # turns are used up.
    max_repeats=1,
    max_same_calls=2,
    # It fills any list, and a longer text only repeats itself.
    max_text_chars=120,
    max_items=3,
    caps_limits=True,
    examples=DEFAULT,
    instructions_first=True,
    # What ran is attached anyway; anything else it claims is noise.
    claims_evidence=False,
    is_held_to_rules=True,
    # It would only repeat itself again. So the last thing that it reads is a result.
    shows_repeats=False,
)


def policy_for(*, is_small: bool) -> ModelPolicy:
    """The policy for a model of this size."""
    return SMALL if is_small else LARGE
