"""What the model behind an answer took."""

from __future__ import annotations

from bridge.protocol.record import LATEST_MS, Count
from bridge.protocol.value import Value


class Usage(Value):
    """Tokens and requests to the model, as far as the route reports them.

    `input_tokens` were read anew; `cache_read_tokens` came from the provider's cache,
    and `cache_write_tokens` were put into it. `requests` is how often the model was
    asked: each turn of an agent is one.
    """

    input_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    output_tokens: Count = 0
    requests: Count = 0

    @property
    def tokens(self) -> int:
        """What counts against budgets: everything but what a cache had."""
        return self.input_tokens + self.cache_write_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(
            **{
                name: min(getattr(self, name) + getattr(other, name), LATEST_MS)
                for name in self.fields
            }
        )

    def less(self, before: Usage) -> Usage:
        """What has been added since; nothing where it is less than before."""
        return Usage(
            **{
                name: max(0, getattr(self, name) - getattr(before, name))
                for name in self.fields
            }
        )


def count_in(told: object, key: str) -> int:
    """A count in foreign data; 0 if it is missing or invalid."""
    number = told.get(key) if isinstance(told, dict) else None
    return number if type(number) is int and 0 <= number <= LATEST_MS else 0
