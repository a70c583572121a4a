"""Small GGUF files, made by hand."""

import struct
from typing import Any

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
METADATA = {
    "general.architecture": "llama",
    "llama.context_length": 2048,
    "tokenizer.ggml.tokens": ["a", "b", "c"],
    "tokenizer.chat_template": TEMPLATE,
}


def gguf(
    metadata: dict[str, Any] | None = None,
    tensors: dict[str, tuple[int, ...]] | None = None,
    *,
    version: int = 3,
) -> bytes:
    """A whole file: tensors of Q4_1 by their dimensions, zeros as data."""
    metadata = METADATA if metadata is None else metadata
    tensors = {"weight": (64, 2)} if tensors is None else tensors
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        head += _text(key) + _value(value)
    offset = 0
    for name, dimensions in tensors.items():
        head += _text(name) + struct.pack("<I", len(dimensions))
        head += struct.pack(f"<{len(dimensions)}Q", *dimensions)
        head += struct.pack("<IQ", 3, offset)
        values = 1
        for dimension in dimensions:
            values *= dimension
        offset += values // 32 * 20
    return head + bytes(-len(head) % 32) + bytes(offset)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: Any) -> bytes:
    if isinstance(value, list):
        words = b"".join(map(_text, value))
        return struct.pack("<IIQ", 9, 8, len(value)) + words
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    return struct.pack("<I", 8) + _text(value)
