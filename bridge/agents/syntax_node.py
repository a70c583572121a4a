"""A piece of source, as templates and scripts see it. Pure.

Source: subagent definition format; InitialContext.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

NODE_NAMES = frozenset({"node_text", "node_name", "node_type", "file_path"})


class CSTNode(Protocol):
    """A piece of source, from a request or from any parser."""

    @property
    def text(self) -> str:
        """The source itself."""

    @property
    def name(self) -> str:
        """Its name, as in `Class.method`."""

    @property
    def node_type(self) -> str:
        """Its type in the grammar."""

    @property
    def file_path(self) -> Path | str:
        """The file that contains it."""


def node_scope(node: CSTNode) -> dict[str, str]:
    """The node by the names of `NODE_NAMES`."""
    return {
        "node_text": node.text,
        "node_name": node.name,
        "node_type": node.node_type,
        "file_path": str(node.file_path),
    }
