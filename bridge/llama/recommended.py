"""What `hostbridge models pull` takes: a file on a hub, or a name for one.

Source: the repositories' pages on huggingface.co for file names and sizes, and those of
the models that they are made from for licences and parameters.
"""

import re
from typing import NamedTuple

from bridge.errors import InvalidRequest
from bridge.hints import did_you_mean
from bridge.protocol.names import MODEL_FILE

HUB = "https://huggingface.co/"
# One of several files that only together are a model.
PART = re.compile(rf"-\d{{5}}-of-\d{{5}}{re.escape(MODEL_FILE)}$")
# What a page's address has between the repository and the path.
_PAGE = re.compile(r"^(?:blob|resolve)/main/|\?download=true$")
_SEGMENT = re.compile(r"[^\W.][^/\\\x00-\x1f\x7f]*")


class HubFile(NamedTuple):
    """A file on a hub: the repository (`owner/name`) and the path in it, or no path."""

    repository: str
    path: str

    def __str__(self) -> str:
        return f"{self.repository}/{self.path}".rstrip("/")


class Recommended(NamedTuple):
    """A model worth trying; `billions` counts its parameters."""

    file: HubFile
    billions: float
    gigabytes: float
    licence: str


# From the smallest to the best.
RECOMMENDED = {
    "smollm2-1.7b": Recommended(
        HubFile(
            "HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF",
            "smollm2-1.7b-instruct-q4_k_m.gguf",
        ),
        1.7, 1.06, "apache-2.0",
    ),
    "qwen2.5-3b": Recommended(
        HubFile(
            "bartowski/Qwen2.5-3B-Instruct-GGUF", "Qwen2.5-3B-Instruct-Q4_K_M.gguf"
        ),
        3.1, 1.93, "qwen-research",
    ),
    "llama-3.2-3b": Recommended(
        HubFile(
            "bartowski/Llama-3.2-3B-Instruct-GGUF", "Llama-3.2-3B-Instruct-Q4_K_M.gguf"
        ),
        3.2, 2.02, "llama3.2",
    ),
    "qwen3-4b": Recommended(
        HubFile(
            "unsloth/Qwen3-4B-Instruct-2507-GGUF", "Qwen3-4B-Instruct-2507-Q4_K_M.gguf"
        ),
        4.0, 2.50, "apache-2.0",
    ),
}  # fmt: skip


def parse(wanted: str) -> HubFile:
    """The file that a user names: a recommended name, or `OWNER/NAME/FILE.gguf`.

    The address of a file's page will do, too. Without a file the path is empty.

    Raises:
        InvalidRequest: it is neither, or one part of a model in several files.
    """
    if wanted in RECOMMENDED:
        return RECOMMENDED[wanted].file
    owner, _, rest = wanted.removeprefix(HUB).partition("/")
    name, _, path = rest.partition("/")
    path = _PAGE.sub("", path)
    parts = [owner, name, *(path.split("/") if path else ())]
    is_path = all(map(_SEGMENT.fullmatch, parts))
    if not is_path or (path and not path.endswith(MODEL_FILE)):
        names = ", ".join(RECOMMENDED)
        raise InvalidRequest(
            f"no model {wanted!r}: expected OWNER/NAME/FILE{MODEL_FILE} or one of "
            f"{names}{did_you_mean(wanted, RECOMMENDED)}"
        )
    if PART.search(path):
        raise InvalidRequest(
            f"{path} is one part of a model: choose a file that holds all of it"
        )
    return HubFile(f"{owner}/{name}", path)
