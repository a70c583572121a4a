"""Which request is meant: the beginning of an id names it, if it is the only one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.cli.common.output import complain
from bridge.errors import InvalidRequest, UnknownRequest
from bridge.protocol.ids import check_id, find_rank
from bridge.protocol.wording import one_line

if TYPE_CHECKING:
    from argparse import Namespace

    from bridge.api.bridge import Bridge

_LIVE = ("requests", "processing")
_ENDED = ("responses", "done")
_SHOWN = 10
_EXCERPT_CHARS = 60


def which(bridge: Bridge, words: str) -> str:
    """The id that is meant; `words` itself if no request begins with it.

    Raises:
        InvalidRequest: several begin with it; lists them.
    """
    ids = all_ids(bridge)
    found = [each for each in ids if each.startswith(words)] if words else []
    if words in ids or not found:
        return words
    if len(found) == 1:
        return found[0]
    found.sort(key=lambda each: (_asked_us(bridge, each), each), reverse=True)
    listed = "".join(f"\n{each}  {_about(bridge, each)}" for each in found[:_SHOWN])
    more = f"\nand {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    raise InvalidRequest(
        f"request {words}: the ids of {len(found):,} requests begin so; which one?"
        f"{listed}{more}"
    )


def chosen(bridge: Bridge, options: Namespace) -> list[str]:
    """The ids that are meant: those named, or with `--all` those that have not ended.

    Raises:
        InvalidRequest: neither was said, or both; or a name means several.
    """
    if bool(options.ids) == options.all:
        wrong = "takes no ID beside --all" if options.all else "needs an ID, or --all"
        verb = options.prog.rpartition(" ")[2]
        raise InvalidRequest(f"{verb} {wrong}; see `hostbridge status`")
    if not options.all:
        return [which(bridge, each) for each in options.ids]
    live = sorted(all_ids(bridge, _LIVE) - all_ids(bridge, _ENDED))
    if not live:
        complain("nothing waits or runs here")
    return live


def latest(bridge: Bridge) -> str:
    """The request that was asked last.

    Raises:
        UnknownRequest: nothing was ever asked here.
    """
    ids = all_ids(bridge)
    if not ids:
        raise UnknownRequest(
            f"nothing was ever asked here ({bridge.store.place.owner}); try: "
            'hostbridge ask "Which modules lack tests?"'
        )
    return max(ids, key=lambda each: (_asked_us(bridge, each), each))


def all_ids(bridge: Bridge, folders: tuple[str, ...] = _LIVE + _ENDED) -> set[str]:
    """The ids of all requests in these folders."""
    if not bridge.store.exists():
        return set()
    with bridge.store.state(make=False) as state:
        return {name for folder in folders for name in state.ids(folder)}


def _asked_us(bridge: Bridge, request_id: str) -> int:
    """Our own ids say when they were asked; of others the file does."""
    rank = find_rank(request_id)
    if rank is not None:
        return rank[1]
    found = bridge.store.find(check_id(request_id))
    return found.request.asked_ms * 1000 if found and found.request else 0


def _about(bridge: Bridge, request_id: str) -> str:
    found = bridge.store.find(check_id(request_id))
    if found is None or found.request is None:
        return ""
    prompt = one_line(found.request.prompt, _EXCERPT_CHARS)
    state = found.status if found.response else found.request.stage.words
    return f"{state}  {found.request.agent_type}  {prompt}"
