"""What a worker is told to load: a model, its room, and where its prompts are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.store.place import Place, prepare

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.config import Settings
    from bridge.local.models import LocalModel


def load_order(model: LocalModel, settings: Settings) -> dict[str, Any]:
    """The first order of `bridge.local.worker`.

    Raises:
        StateRefused: `settings.home`, where prompts are kept, is not safe to use.
    """
    trained = model.header.context_length or settings.local_context
    return {
        "do": "load",
        "path": str(model.path),
        "template": model.header.chat_template,
        "context": min(settings.local_context, trained),
        "memoryBytes": settings.local_memory_mb << 20,
        "cache": _cache(settings),
    }


def prompts_folder(settings: Settings) -> Path:
    """Where prompts are kept that were read before; see `prompt_cache`."""
    return settings.home / "cache" / "prompts"


def _cache(settings: Settings) -> dict[str, Any] | None:
    """Where prompts are kept; None where they are not, or cannot be."""
    if not settings.local_cache_mb:
        return None
    home, folder = settings.home, prompts_folder(settings)
    try:
        prepare(Place(home, folder, home, "prompts that were read before"))
    except OSError:
        return None
    return {"folder": str(folder), "maxBytes": settings.local_cache_mb << 20}
