"""Find the node that `FILE` or `FILE::NAME` means, in a project."""

import os
import stat
from pathlib import Path

from bridge.errors import InvalidRequest
from bridge.hints import close
from bridge.nodes.outline import LANGUAGES, outline
from bridge.protocol.request import Node
from bridge.store.plain_file import open_beneath

MAX_FILE_BYTES = 2 * 1024 * 1024
_MAX_NAMED = 8


def find_node(spec: str, project: Path) -> Node:
    """The node that `spec` names: `src/app.py::Class.method`, or a whole file.

    The file is relative to the project, or an absolute path inside it. If several nodes
    have the same name (a property and its setter), it is the first. `type` is
    `function`, `class`, `method` or `file`.

    Raises:
        InvalidRequest: no such file, or no such name, with the nearest ones; the file
            is outside the project, not a plain file, binary, too large, or in a
            language that is not supported.
        ExtraMissing: tree-sitter is not installed.
    """
    written, mark, name = spec.partition("::")
    root = Path(os.path.realpath(project))
    real = _inside(written, root)
    source = _read(real, root, written)
    file = str(real.relative_to(root))
    if not mark:
        text = source.decode("utf-8", "replace")
        return Node(file=file, name=real.name, type="file", line=1, text=text)
    language = LANGUAGES.get(real.suffix)
    if language is None:
        known = ", ".join(LANGUAGES)
        raise InvalidRequest(
            f"{written}: nodes are found in {known}; name the file alone for all of it"
        )
    pieces = outline(source, language)
    for piece in pieces:
        if piece.name == name:
            return Node(
                file=file, name=name, type=piece.kind, line=piece.line, text=piece.text
            )
    near = _near(name, list(dict.fromkeys(piece.name for piece in pieces)))
    raise InvalidRequest(f"{written}: no node is named {name!r}; {near}")


def _inside(written: str, root: Path) -> Path:
    if not written or "\0" in written:
        raise InvalidRequest("expected FILE::NAME, such as src/app.py::Class.method")
    real = Path(os.path.realpath(os.path.join(root, written)))
    if not real.is_relative_to(root):
        raise InvalidRequest(f"{written} lies outside the project {root}")
    return real


def _read(real: Path, root: Path, written: str) -> bytes:
    try:
        fd = open_beneath(root, real.relative_to(root).parts)
    except FileNotFoundError:
        raise InvalidRequest(f"{written} does not exist in the project") from None
    except OSError as exc:
        raise InvalidRequest(f"{written}: {exc.strerror}") from None
    facts = os.fstat(fd)
    if not stat.S_ISREG(facts.st_mode):
        os.close(fd)
        raise InvalidRequest(f"{written} is not a plain file")
    with open(fd, "rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        size = f"{facts.st_size:,} bytes, over {MAX_FILE_BYTES:,}"
        raise InvalidRequest(f"{written} is too large: {size}")
    if b"\0" in data:
        raise InvalidRequest(f"{written} is binary")
    return data


def _near(name: str, names: list[str]) -> str:
    """A hint: names with the same last part, near matches, or what there is."""
    last = name.rpartition(".")[2]
    same = [n for n in names if n.rpartition(".")[2] == last]
    near = same or close(name, names)
    if near:
        return f"did you mean {' or '.join(repr(n) for n in near[:3])}?"
    if not names:
        return "there is none in it"
    more = ", …" if len(names) > _MAX_NAMED else ""
    return f"there are {', '.join(names[:_MAX_NAMED])}{more}"
