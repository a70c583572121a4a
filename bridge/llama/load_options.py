"""The first order to a worker: the model, its limits, the cache of prompts."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.config import Settings
from bridge.errors import StateRefused
from bridge.store.location import Place, open_state

if TYPE_CHECKING:
    from bridge.llama.model_files import ModelFile


_LOG = logging.getLogger(__name__)


def load_order(model: ModelFile, settings: Settings) -> dict[str, Any]:
    """The first order of `bridge.llama.model_worker`."""
    trained = model.header.context_length or settings.local_context
    return {
        "do": "load",
        "path": str(model.path),
        "sha256": model.digest,
        "template": model.header.chat_template,
        "context": min(settings.local_context, trained),
        "memoryBytes": settings.local_memory_mb << 20,
        "cache": _cache(settings),
    }


@cache
def _say_once(why: str) -> None:
    """Warn the user, on stderr unless the program has set up logging."""
    _LOG.warning("hostbridge: prompts are not kept, which takes longer: %s", why)


def prompts_folder(settings: Settings) -> Path:
    """The folder of cached prompts; see `prompt_cache`."""
    return settings.home / "cache" / "prompts"


def _cache(settings: Settings) -> dict[str, Any] | None:
    """Where prompts are cached; None if they are not, or cannot be.

    Without a cache replies only take longer, so a warning is enough.
    """
    if not settings.local_cache_mb:
        return None
    home, folder = settings.home, prompts_folder(settings)
    try:
        open_state(Place(home, folder, home, "prompts that were read before")).close()
    except OSError as exc:
        _say_once(f"{folder}: {exc.strerror or exc}")
        return None
    except StateRefused as exc:
        _say_once(str(exc))
        return None
    return {"folder": str(folder), "maxBytes": settings.local_cache_mb << 20}
