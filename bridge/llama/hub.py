"""Fetch a model file from a Hugging Face hub into the user's folder of models.

The hub's own library does the transfer: it goes on where an earlier one stopped, and
takes its address from `HF_ENDPOINT`. What arrives counts only once its SHA-256 is the
one that the hub states for it and its header is a whole GGUF header. No credential is
read or sent: a repository that wants one is refused by name.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import orjson

from bridge.errors import BridgeError, ExtraMissing, InvalidRequest
from bridge.llama.gguf import NotAModel, read_header
from bridge.protocol.names import MODEL_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$")
# Beside a model: where it came from.
_SOURCE = ".source.json"
# After the digest: what has not arrived whole.
_PARTIAL = ".partial"


class PullFailed(BridgeError):
    """A model could not be fetched; says why, and what to do."""

    code = "pull_failed"


class HubFile(NamedTuple):
    """A file on the hub: the repository (`owner/name`) and the path inside it."""

    repository: str
    path: str

    def __str__(self) -> str:
        return f"{self.repository}/{self.path}"


class Recommended(NamedTuple):
    """A model worth trying: where it is, its size in GB, its licence."""

    file: HubFile
    gigabytes: float
    licence: str


def _recommended(
    repository: str, path: str, gigabytes: float, licence: str
) -> Recommended:
    return Recommended(HubFile(repository, path), gigabytes, licence)


# Names, sizes and licences are those that each repository's page states.
RECOMMENDED = {
    "smollm2-1.7b": _recommended(
        "HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF",
        "smollm2-1.7b-instruct-q4_k_m.gguf",
        1.06,
        "apache-2.0",
    ),
    "llama-3.2-3b": _recommended(
        "bartowski/Llama-3.2-3B-Instruct-GGUF",
        "Llama-3.2-3B-Instruct-Q4_K_M.gguf",
        2.02,
        "llama3.2",
    ),
}


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


def parse(wanted: str) -> HubFile:
    """The file that a user names: `OWNER/NAME/FILE.gguf` or a recommended name.

    Raises:
        InvalidRequest: it is neither, or one part of a model in several files.
    """
    if wanted in RECOMMENDED:
        return RECOMMENDED[wanted].file
    owner, _, rest = wanted.partition("/")
    name, _, path = rest.partition("/")
    if not (owner and name and path.endswith(MODEL_FILE)):
        names = ", ".join(RECOMMENDED)
        raise InvalidRequest(
            f"no model {wanted!r}: expected OWNER/NAME/FILE{MODEL_FILE} or one of "
            f"{names}"
        )
    if _PART.search(path):
        raise InvalidRequest(
            f"{path} is one part of a model: choose a file that holds all of it"
        )
    return HubFile(f"{owner}/{name}", path)


def pull(wanted: HubFile, folder: Path) -> tuple[Path, Source]:
    """Fetch a model into `folder`; returns its file, and where it came from.

    An interrupted transfer goes on where it stopped. A file that is already there with
    the digest that the hub states stays as it is.

    Raises:
        PullFailed: the hub has no such file or cannot be reached, the file is not what
            the hub stated, or another file of that name is in the way.
        ExtraMissing: huggingface_hub is not installed.
    """
    with _our_errors(wanted):
        stated = _stated(wanted)
    target = folder / os.path.basename(wanted.path)
    if target.exists():
        if _sha256(target) != stated.source.sha256:
            raise PullFailed(f"{target} is there already and differs: move it away")
    else:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = folder / f"{stated.source.sha256}{_PARTIAL}"
        with partial.open("ab") as file:
            _take(file, wanted)
            with _our_errors(wanted):
                _transfer(stated, file, os.path.basename(wanted.path))
            os.fsync(file.fileno())
        _check(partial, wanted, stated.source)
        partial.rename(target)
    note = orjson.dumps(asdict(stated.source), option=orjson.OPT_INDENT_2)
    _source_file(target).write_bytes(note + b"\n")
    return target, stated.source


def source_of(model: Path) -> Source | None:
    """Where a model came from; None if that is not known."""
    try:
        return Source(**orjson.loads(_source_file(model).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


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
    if not _SHA256.fullmatch(digest) or facts.size is None:
        raise PullFailed(f"{wanted}: the hub states no SHA-256 for it")
    source = Source(*wanted, facts.commit_hash or "", digest)
    return _Stated(source, facts.location, facts.size)


def _take(file: BinaryIO, wanted: HubFile) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PullFailed(f"{wanted} is being fetched by another process") from None


def _transfer(stated: _Stated, file: BinaryIO, name: str) -> None:
    from huggingface_hub.file_download import http_get

    here = file.seek(0, os.SEEK_END)
    if here > stated.size:
        here = file.truncate(0)
    http_get(
        stated.url,
        file,
        resume_size=here,
        expected_size=stated.size,
        displayed_filename=name,
    )
    file.flush()


def _check(partial: Path, wanted: HubFile, source: Source) -> None:
    """Remove what is not the file that the hub stated, or no model.

    Raises:
        PullFailed: it was removed.
    """
    problem = None
    found = _sha256(partial)
    if found != source.sha256:
        problem = f"its SHA-256 is {found}, and the hub states {source.sha256}"
    else:
        try:
            read_header(partial)
        except NotAModel as exc:
            problem = f"it is no model: {exc}"
    if problem is not None:
        partial.unlink()
        raise PullFailed(f"{wanted}: {problem}; it was removed")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _our_errors(wanted: HubFile) -> Iterator[None]:
    """Turn the library's errors into one line that names the file and the way out."""
    try:
        from huggingface_hub import constants, errors
    except ImportError:
        raise ExtraMissing("local", "huggingface_hub") from None
    import httpx2

    # Otherwise the library reports which program of the user's asks.
    constants.HF_HUB_DISABLE_TELEMETRY = True
    try:
        yield
    except errors.HFValidationError as exc:
        raise InvalidRequest(f"{wanted}: {_first_line(exc)}") from None
    except errors.GatedRepoError:
        raise PullFailed(
            f"{wanted} is given only to those who sign in, which hostbridge does not: "
            f"fetch it yourself, and put it into the folder of models"
        ) from None
    except errors.RepositoryNotFoundError:
        raise PullFailed(f"the hub has no repository {wanted.repository}") from None
    except errors.EntryNotFoundError:
        raise PullFailed(f"{wanted.repository} has no file {wanted.path}") from None
    except (errors.HfHubHTTPError, httpx2.HTTPError, OSError) as exc:
        raise PullFailed(
            f"{wanted} could not be fetched: {_first_line(exc)}; what has arrived is "
            "kept, so try again"
        ) from None


def _first_line(exc: Exception) -> str:
    return next(iter(str(exc).splitlines()), type(exc).__name__)
