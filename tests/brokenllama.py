"""A build of llama.cpp that this processor refuses: the real one but for a function."""

import subprocess
from importlib.util import find_spec
from pathlib import Path

import needs

_SOURCE = """\
int llama_decode(void) {
#ifdef __x86_64__
    __asm__("ud2");
#else
    __asm__("udf #0");
#endif
}
"""


def built_for_another_processor(folder: Path) -> Path:
    """Make it in `folder`, for LLAMA_CPP_LIB_PATH: reading tokens is refused.

    Its own function stands before that of the real library, which has all others.
    """
    needs.local_model()
    package = find_spec("llama_cpp")
    assert package is not None
    assert package.origin is not None
    real = Path(package.origin).parent / "lib"
    folder.mkdir(exist_ok=True)
    source = folder / "refused.c"
    source.write_text(_SOURCE)
    subprocess.run(
        [
            needs.tool("cc"), "-shared", "-fPIC", "-o", folder / "libllama.so", source,
            "-Wl,--no-as-needed", f"-Wl,-rpath,{real}", f"-L{real}", "-l:libllama.so",
        ],
        check=True,
    )  # fmt: skip
    return folder
