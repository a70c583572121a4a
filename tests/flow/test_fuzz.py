"""Twenty thousand flows and spoilt flows with --full; scripts/fuzz_flows.py says how.

The script tries any number of others. What it has found has a test of its own, where it
belongs.
"""

from collections import Counter

import pytest
from fuzz_flows import try_out

pytestmark = pytest.mark.slow

SLOW = [
    pytest.param(
        range(start, start + 1_000), marks=[pytest.mark.slow, pytest.mark.full]
    )
    for start in range(1_000, 20_000, 1_000)
]


@pytest.mark.parametrize(
    "numbers", [range(1_000), *SLOW], ids=lambda numbers: f"from-{numbers.start}"
)
def test_a_flow_runs_to_an_end_or_says_what_is_wrong(numbers):
    """Each problem at its place; printed and read again the same; hostile answers."""
    ends: Counter[str] = Counter()

    try_out(numbers, lambda _number, _source, used: ends.update([used.end]))

    # Were nearly all of one kind, the others would go untested.
    assert ends.keys() == {"refused", "has errors", "runs"}
    assert min(ends.values()) > 50
