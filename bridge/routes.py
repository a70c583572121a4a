"""The routes that a process of ours can serve, by name: here and nowhere else.

An open session's, `host`, is beside them, and whoever names one says what is possible
in this order.
"""

from __future__ import annotations

from typing import Literal, get_args

OwnRoute = Literal["claude", "local", "endpoint"]
OWN: tuple[OwnRoute, ...] = get_args(OwnRoute)
