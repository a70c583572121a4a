"""Fetch a model file from a Hugging Face hub into the user's folder of models.

The hub's own library does the transfer: it goes on where an earlier one stopped, shows
a bar on a terminal, and takes its address from `HF_ENDPOINT`. What arrives counts only
once its SHA-256 is the one that the hub states for it and its header is a whole GGUF
header. No credential is read or sent: a repository that wants one is refused by name.
"""

import errno
import fcntl
import hashlib
import io
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bridge import own_files
from bridge.agent_loop.chat_model import ModelFailed
from bridge.endpoint.http_transport import UNPACKED, refuse_packed
from bridge.errors import BadSetting, BridgeError, ExtraMissing, InvalidRequest
from bridge.hints import did_you_mean
from bridge.llama.gguf import NotAModel, read_header
from bridge.llama.recommended import PART, HubFile
from bridge.protocol.names import MODEL_FILE
from bridge.setting import without_passwords

_SHA256 = re.compile(r"[0-9a-f]{64}")
# Beside a model: where it came from.
_SOURCE = ".source.json"
# Beside a model: what has not arrived whole, by the beginning of its digest.
_PARTIAL = "partial"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_MOST_LISTED = 1000
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
_AGAIN = "run it again: it goes on where it stopped"


class PullFailed(BridgeError):
    """A model could not be fetched; says why, and what to do."""

    code = "pull_failed"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model file came from: `<model>.source.json`.

    Attributes:
        repository: `owner/name`.
        path: the file's path in it.
        revision: the commit, as the hub names it.
        sha256: of the file, as the hub stated and as was checked.
    """

    repository: str
    path: str
    revision: str
    sha256: str


def pull(
    wanted: HubFile, folder: Path, tell: Callable[[str], object]
) -> tuple[Path, Source]:
    """Fetch a model into `folder`; returns its file, and where it came from.

    An interrupted transfer goes on where it stopped. A file that is already there with
    the digest that the hub states stays as it is. `tell` gets one line as it begins.

    Raises:
        InvalidRequest: no file is named; the message lists those that there are.
        PullFailed: the hub has no such file or cannot be reached, the file is not what
            the hub stated, or another file of that name is in the way.
        ExtraMissing: huggingface_hub is not installed.
    """
    with _our_errors(wanted, folder):
        if not wanted.path:
            raise InvalidRequest(f"name a file: {_listing(wanted)}")
        stated = _stated(wanted)
        target = folder / os.path.basename(wanted.path)
        if not target.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            tell(f"fetching {wanted}: {size_text(stated.size)}, into {folder}")
            _fetch(stated, target)
        elif _sha256(target) != stated.source.sha256:
            raise PullFailed(f"{target} is there already and differs: move it away")
        note = orjson.dumps(asdict(stated.source), option=orjson.OPT_INDENT_2)
        _source_file(target).write_bytes(note + b"\n")
    return target, stated.source


def source_of(model: Path) -> Source | None:
    """Where a model came from; None if that is not known."""
    try:
        return Source(**orjson.loads(_source_file(model).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def size_text(count: int) -> str:
    """A size as a hub writes it: `98 MB`, `1.06 GB`."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"  # noqa: PLR2004


def _source_file(model: Path) -> Path:
    return model.with_name(f"{model.name}{_SOURCE}")


class _Stated(NamedTuple):
    """What the hub states about a file; `url` is where its bytes are."""

    source: Source
    url: str
    size: int


def _stated(wanted: HubFile) -> _Stated:
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    # Without `token=False` the library sends the credential that it finds.
    facts = get_hf_file_metadata(hf_hub_url(*wanted), token=False)
    digest = facts.etag or ""
    if not _SHA256.fullmatch(digest) or facts.size is None or facts.size <= 0:
        raise PullFailed(f"{wanted}: the hub states no SHA-256 and size for it")
    source = Source(*wanted, facts.commit_hash or "", digest)
    return _Stated(source, facts.location, facts.size)


def _fetch(stated: _Stated, target: Path) -> None:
    digest = stated.source.sha256
    partial = target.with_name(f"{target.name}.{digest[:12]}.{_PARTIAL}")
    with _Part(partial, stated.size) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PullFailed(
                f"another process is fetching {target.name}; wait until it has ended"
            ) from None
        # Another process may have ended between our first look and the lock.
        if not target.exists():
            try:
                _transfer(stated, file, target)
            finally:
                if not file.seek(0, os.SEEK_END):
                    partial.unlink()
            _check(partial, stated.source)
            partial.rename(target)
        else:
            partial.unlink(missing_ok=True)


class _Part(io.BufferedWriter):
    """Appends to a file, up to the size that the hub stated."""

    def __init__(self, path: Path, most: int) -> None:
        # It is a lock, too: no child made by fork may hold it.
        file = own_files.open_file(str(path), _APPEND, 0o644)
        file.seek(0, os.SEEK_END)
        super().__init__(file)
        self._most = most

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > self._most:
            raise PullFailed(
                f"the hub sends more than the {self._most} bytes it stated"
            )
        return super().write(data)


def _transfer(stated: _Stated, file: io.BufferedWriter, target: Path) -> None:
    from huggingface_hub.file_download import http_get

    # Otherwise each broken connection prints a long address.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    here = file.seek(0, os.SEEK_END)
    free = shutil.disk_usage(target.parent).free
    if free < stated.size - here:
        raise PullFailed(
            f"{target.name} takes {size_text(stated.size - here)} more, and "
            f"{target.parent} has {size_text(free)} left: make room first"
        )
    http_get(
        stated.url,
        file,
        resume_size=here,
        expected_size=stated.size,
        displayed_filename=target.name,
    )
    file.flush()
    os.fsync(file.fileno())


def _check(partial: Path, source: Source) -> None:
    """Remove what is not the file that the hub stated, or no model.

    Raises:
        PullFailed: it was removed.
    """
    found = _sha256(partial)
    if found != source.sha256:
        problem = f"its SHA-256 is {found}, and the hub states {source.sha256}"
    else:
        try:
            read_header(partial)
        except NotAModel as exc:
            problem = f"it is no model: {exc}"
        else:
            return
    partial.unlink()
    raise PullFailed(f"{source.repository}/{source.path}: {problem}; it was removed")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _listing(wanted: HubFile) -> str:
    """The whole models that a repository has, and which one was probably meant."""
    from huggingface_hub import HfApi

    tree = HfApi(token=False).list_repo_tree(wanted.repository, recursive=True)
    sizes = {
        each.path: getattr(each, "size", 0)
        for each in islice(tree, _MOST_LISTED)
        if each.path.endswith(MODEL_FILE) and not PART.search(each.path)
    }
    if not sizes:
        return f"{wanted.repository} has no {MODEL_FILE} file that holds a whole model"
    lines = [f"  {path}  {size_text(size)}" for path, size in sizes.items()]
    near = did_you_mean(wanted.path, sizes).removeprefix("; ")
    return "\n".join([*([near] if near else []), f"{wanted.repository} has", *lines])


@contextmanager
def _our_errors(wanted: HubFile, folder: Path) -> Iterator[None]:
    """Turn the library's errors into a message that names the file and the way out."""
    try:
        from huggingface_hub import constants, errors, get_session
    except ImportError:
        raise ExtraMissing("local", "huggingface_hub") from None
    except ValueError as exc:
        raise BadSetting(f"HF_ENDPOINT is no address: {_first_line(exc)}") from None
    import httpx2

    # Otherwise the library reports which program of the user's asks.
    constants.HF_HUB_DISABLE_TELEMETRY = True
    session = get_session()
    session.headers.update(UNPACKED)
    session.event_hooks = {**session.event_hooks, "response": [refuse_packed]}
    of_hub = (errors.HfHubHTTPError, errors.OfflineModeIsEnabled, ModelFailed)
    try:
        yield
    except errors.HFValidationError as exc:
        raise InvalidRequest(f"{wanted}: {_first_line(exc)}") from None
    except errors.GatedRepoError:
        raise PullFailed(
            f"{wanted} is given only to those who sign in, which hostbridge does not: "
            f"fetch it yourself, and put it into {folder}"
        ) from None
    except errors.RepositoryNotFoundError:
        raise PullFailed(
            f"the hub has no public repository {wanted.repository}"
        ) from None
    except errors.EntryNotFoundError:
        with _our_errors(HubFile(wanted.repository, ""), folder):
            listing = _listing(wanted)
        raise PullFailed(f"no file {wanted.path}: {listing}") from None
    except (
        *of_hub,
        ModelFailed,
        httpx2.HTTPError,
        httpx2.InvalidURL,
        ValueError,
    ) as exc:
        hub = without_passwords(constants.ENDPOINT)
        raise PullFailed(
            f"{wanted} could not be fetched from {hub}: {_first_line(exc)}; {_AGAIN}"
        ) from None
    except OSError as exc:
        if exc.errno in _FULL:
            raise PullFailed(
                f"{folder}: no space is left; make room, and {_AGAIN}"
            ) from None
        why = (exc.strerror or f"{_first_line(exc)}; {_AGAIN}").lower()
        raise PullFailed(f"{exc.filename or wanted}: {why}") from None


def _first_line(exc: Exception) -> str:
    words = next(iter(str(exc).splitlines()), type(exc).__name__).rstrip(".")
    return without_passwords(words)
