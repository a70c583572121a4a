"""Read the header of a GGUF file, without llama.cpp.

A file that is missing, truncated or of another format is recognized before any library
opens it. Only the header is read: counts, metadata, the table of tensors. No length is
trusted: a file that points beyond its own end is broken.

Source: ggml, docs/gguf.md, "Specification", versions 2 and 3.
"""

import mmap
import os
import stat
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

MAGIC = b"GGUF"
VERSIONS = (2, 3)
_OTHERS = {
    b"PK\x03\x04": "a zip archive (PyTorch?)",
    b"\x1f\x8b": "a gzip archive",
    b"ggjt": "an old ggml file, from before GGUF",
    b"ggml": "an old ggml file, from before GGUF",
    b"vers": "a git-lfs pointer, not the file itself: run `git lfs pull`",
    b"<!DO": "a web page",
    b"<htm": "a web page",
}

_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?",
    10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_MAX_DEPTH = 4
_MAX_DIMENSIONS = 4

# ggml type: name, values per block, bytes per block. Source: ggml, `ggml_type` and the
# blocks of ggml-common.h.
TENSOR_TYPES = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1),
    25: ("I16", 1, 2), 26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
}  # fmt: skip


class NotAModel(Exception):
    """The file is not a whole GGUF model; the message says what it is instead."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a model.

    Attributes:
        version: the version of the format.
        metadata: its keys and values; the value of an array is its length.
        parameters: the count of numbers in its tensors.
        quantization: the type of most of them, such as `Q4_1`.
        size: the size of the file, in bytes.
    """

    version: int
    metadata: dict[str, Any]
    parameters: int
    quantization: str
    size: int

    @property
    def architecture(self) -> str:
        """`llama`, `qwen2`, …; empty if unknown."""
        return str(self.metadata.get("general.architecture", ""))

    @property
    def context_length(self) -> int:
        """The context, in tokens, that it was trained with; 0 if unknown."""
        length = self.metadata.get(f"{self.architecture}.context_length", 0)
        return length if isinstance(length, int) else 0

    @property
    def chat_template(self) -> str | None:
        """Its jinja2 template for conversations; None for a base model."""
        template = self.metadata.get("tokenizer.chat_template")
        return template if isinstance(template, str) and template.strip() else None


def read_header(path: Path) -> Header:
    """Read and check the header of a model.

    Raises:
        NotAModel: missing, cut, or of another format.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            facts = os.fstat(file.fileno())
            size = facts.st_size
            if not stat.S_ISREG(facts.st_mode):
                raise NotAModel("not a plain file")
            if size == 0:
                raise NotAModel("an empty file")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Reader(data, size).header()
    except FileNotFoundError:
        raise NotAModel("no such file") from None
    except IsADirectoryError:
        raise NotAModel("a folder, not a file") from None
    except OSError as exc:
        raise NotAModel(os.strerror(exc.errno) if exc.errno else str(exc)) from None
    except ValueError:
        raise NotAModel("no name that a file can have") from None


def _without_waiting(path: str, flags: int) -> int:
    """Open without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


class _Reader:
    """Reads the file from the beginning, value by value."""

    def __init__(self, data: mmap.mmap, size: int) -> None:
        self._data = data
        self._size = size
        self._at = 0

    def header(self) -> Header:
        """Header = magic version counts { key value } { tensor }."""
        if self._data[:4] != MAGIC:
            raise NotAModel(f"not a GGUF file but {_kind_of(self._data[:64])}")
        self._at = 4
        version = self._scalar("I")
        if version not in VERSIONS:
            hint = " (big-endian?)" if version & 0xFFFF == 0 else ""
            raise NotAModel(f"GGUF of version {version}{hint}, not 2 or 3")
        tensors, pairs = self._scalar("Q"), self._scalar("Q")
        metadata = {}
        for _ in range(pairs):
            key = self._string()
            metadata[key] = self._value(self._scalar("I"))
        parameters, quantization, data_bytes = self._tensors(tensors)
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1:
            raise NotAModel(f"an alignment of {alignment!r}")
        starts = -(-self._at // alignment) * alignment
        if starts + data_bytes > self._size:
            raise NotAModel(
                f"cut off: {self._size} bytes of {starts + data_bytes}; "
                "fetch the file again"
            )
        return Header(version, metadata, parameters, quantization, self._size)

    def _tensors(self, count: int) -> tuple[int, str, int]:
        """Tensor = name dimensions type offset; returns sum, main type, end of data."""
        if count == 0:
            raise NotAModel("a GGUF file without tensors: a vocabulary, not a model")
        parameters, data_bytes = 0, 0
        values_of: dict[str, int] = {}
        for _ in range(count):
            self._string()
            dimensions = self._scalar("I")
            if dimensions > _MAX_DIMENSIONS:
                raise NotAModel(f"broken: a tensor of {dimensions} dimensions")
            values = prod(self._scalar("Q") for _ in range(dimensions))
            kind, offset = self._scalar("I"), self._scalar("Q")
            name, block, block_bytes = TENSOR_TYPES.get(kind, (f"type {kind}", 0, 0))
            parameters += values
            values_of[name] = values_of.get(name, 0) + values
            # The size of an unknown type is unknown.
            length = values // block * block_bytes if block else 0
            data_bytes = max(data_bytes, offset + length)
        return parameters, max(values_of, key=lambda name: values_of[name]), data_bytes

    def _value(self, kind: int, depth: int = 0) -> Any:
        if kind in _SCALARS:
            return self._scalar(_SCALARS[kind])
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY or depth == _MAX_DEPTH:
            raise NotAModel(f"broken: a value of type {kind} at byte {self._at}")
        kind, length = self._scalar("I"), self._scalar("Q")
        if kind in _SCALARS:
            self._skip(struct.calcsize("<" + _SCALARS[kind]) * length)
        elif kind == _STRING:
            self._skip_strings(length)
        else:
            for _ in range(length):
                self._value(kind, depth + 1)
        return length

    def _skip_strings(self, count: int) -> None:
        """Skip a vocabulary, fast: it may have hundreds of thousands of words."""
        unpack, data, at = struct.Struct("<Q").unpack_from, self._data, self._at
        try:
            for _ in range(count):
                at += 8 + unpack(data, at)[0]
        except (struct.error, OverflowError):
            at = self._size + 1
        self._skip(at - self._at)

    def _scalar(self, form: str) -> Any:
        start = self._at
        self._skip(struct.calcsize("<" + form))
        return struct.unpack_from("<" + form, self._data, start)[0]

    def _string(self) -> str:
        length = self._scalar("Q")
        start = self._at
        self._skip(length)
        return self._data[start : self._at].decode("utf-8", errors="replace")

    def _skip(self, count: int) -> None:
        self._at += count
        if self._at > self._size:
            raise NotAModel(
                f"cut off within its header, at byte {self._size}; fetch the file again"
            )


def _kind_of(start: bytes) -> str:
    for magic, name in _OTHERS.items():
        if start.startswith(magic):
            return name
    if start[8:9] == b"{":
        return "a safetensors file; convert it with llama.cpp's convert_hf_to_gguf.py"
    return f"something that starts with {start[:4]!r}"
