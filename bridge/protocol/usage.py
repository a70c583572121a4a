"""What the model behind an answer took."""

from bridge.protocol.record import Count
from bridge.protocol.value import Value


class Usage(Value):
    """Tokens and requests to the model, as far as the route tells them.

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
