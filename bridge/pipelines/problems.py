"""The error of a workflow that cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.agents.diagnostic import Diagnostic


class InvalidWorkflow(BridgeError):
    """A pipeline or a step workflow cannot be used.

    Attributes:
        problems: each at its place, in the order of the file.
    """

    # As the errors beside it: where people import it from.
    __module__ = "bridge"
    code = "invalid_workflow"

    def __init__(self, problems: Iterable[Diagnostic]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))
