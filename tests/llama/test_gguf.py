"""The header of a model file; any other file is an error that says what it is."""

import os
from contextlib import suppress
from ctypes import c_char_p, c_int64, c_size_t

import needs
import pytest
from ggufs import METADATA, TEMPLATE, gguf
from hypothesis import given
from hypothesis import strategies as st

from bridge.llama.gguf import TENSOR_TYPES, NotAModel, read_header


@pytest.fixture
def model(tmp_path):
    return tmp_path / "model.gguf"


def problem(path) -> str:
    with pytest.raises(NotAModel) as caught:
        read_header(path)
    return str(caught.value)


def test_a_header_is_read(model):
    """Everything that the list of models shows comes from it."""
    model.write_bytes(gguf())

    header = read_header(model)

    assert header.metadata == METADATA | {"tokenizer.ggml.tokens": 3}
    assert (header.version, header.parameters, header.quantization) == (3, 128, "Q4_1")
    assert (header.architecture, header.context_length) == ("llama", 2048)
    assert header.chat_template == TEMPLATE
    assert header.size == model.stat().st_size


def test_error_a_pipe(model):
    """`models` lists a folder, and opening a pipe in it would wait for ever."""
    os.mkfifo(model)

    assert problem(model) == "not a plain file"


def test_a_base_model_has_no_chat_template(model):
    """Without one, a conversation cannot be written as in its training."""
    model.write_bytes(gguf({"general.architecture": "llama"}))

    header = read_header(model)

    assert (header.chat_template, header.context_length) == (None, 0)


NO_GGUF = "not a GGUF file but "
SAFETENSORS = "a safetensors file; convert it with llama.cpp's convert_hf_to_gguf.py"
POINTER = "a git-lfs pointer, not the file itself: run `git lfs pull`"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "an empty file"),
        (b"root:x:0:0", "not a GGUF file but something that starts with b'root'"),
        (b"PK\x03\x04....", "not a GGUF file but a zip archive (PyTorch?)"),
        (b"\x10" + bytes(7) + b"{}", f"{NO_GGUF}{SAFETENSORS}"),
        (b"version https://git-lfs.github.com/spec/v1", f"{NO_GGUF}{POINTER}"),
        (gguf(version=1), "GGUF of version 1, not 2 or 3"),
        (b"GGUF\x00\x00\x00\x03", "GGUF of version 50331648 (big-endian?), not 2 or 3"),
        (gguf(tensors={}), "a GGUF file without tensors: a vocabulary, not a model"),
    ],
    ids=["empty", "text", "zip", "safetensors", "lfs", "old", "endian", "vocabulary"],
)
def test_error_another_format(model, data, message):
    """The message says what the file is, not only what it is not."""
    model.write_bytes(data)

    assert problem(model) == message


def test_the_tensor_types_are_those_of_llama():
    """A wrong size would make a whole file seem truncated, or the other way round."""
    needs.local_model()
    from bridge.llama.runtime import lib

    name_of, values_of, bytes_of = (
        lib._lib[f"ggml_{each}"] for each in ("type_name", "blck_size", "type_size")
    )
    name_of.restype, values_of.restype, bytes_of.restype = c_char_p, c_int64, c_size_t
    assert {
        kind: (name_of(kind).decode().upper(), values_of(kind), bytes_of(kind))
        for kind in TENSOR_TYPES
    } == TENSOR_TYPES


def test_error_no_file(model, tmp_path):
    assert problem(model) == "no such file"
    assert problem(tmp_path) == "a folder, not a file"


def test_error_cut_anywhere(model):
    """A broken download is never a model, wherever it broke."""
    whole = gguf()

    for length in range(1, len(whole)):
        model.write_bytes(whole[:length])
        message = problem(model)
        assert "cut off" in message or message.startswith("not a GGUF"), length


@given(st.binary(max_size=60), st.integers(4, 200))
def test_error_damage_never_escapes(tmp_path_factory, damage, at):
    """Whatever lengths a broken file claims, it is soon read or refused."""
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    whole = gguf()
    path.write_bytes(whole[:at] + damage + whole[at + len(damage) :])

    with suppress(NotAModel):
        read_header(path)
