"""Errors of the system while the state is in use, as errors of ours."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bridge.errors import StateRefused, StateUnavailable, StateVanished
from bridge.store.directory import NotAPlainFile
from bridge.store.location import Place


@contextmanager
def in_our_words(place: Place) -> Iterator[None]:
    """Turn a system error into one that names the place and the way out."""
    try:
        yield
    except NotAPlainFile as exc:
        raise StateRefused(Path(exc.path), exc.problem, exc.cure) from None
    except OSError as exc:
        if exc.errno is None:
            raise
        if exc.errno == errno.ENOENT:
            raise StateVanished(
                f"{place.state} was removed or replaced while it was in use"
            ) from exc
        where = f"{place.state}"
        # If a single file fails, and not the machine, its reader names it.
        if exc.errno == errno.EIO and f"{exc.filename}".startswith(f"{where}/"):
            where = exc.filename
        raise StateUnavailable(
            f"{where}: {os.strerror(exc.errno)}; see `hostbridge doctor`"
        ) from exc
