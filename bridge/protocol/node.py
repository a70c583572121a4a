"""A piece of source that a request can be about."""

from typing import Annotated

from bridge.protocol.plain_types import Limits
from bridge.protocol.value import Value


class Node(Value):
    """A piece of source that a request is about, as it was when it was made.

    `file` is relative to the project; `line` counts from 1.
    """

    file: str
    name: str
    type: str
    line: Annotated[int, Limits(ge=1)]
    text: str

    @property
    def node_type(self) -> str:
        """`type`, as templates call it."""
        return self.type

    @property
    def file_path(self) -> str:
        """`file`, as templates call it."""
        return self.file

    def __str__(self) -> str:
        """What an agent reads if no template of its definition uses the node."""
        return f"{self.file}, line {self.line}, {self.type} {self.name}:\n\n{self.text}"
