"""How to add an optional part to the hostbridge that runs, from where it came from.

Before a package is on an index, `pip install hostbridge[…]` finds nothing, or somebody
else's package.

Source: PyPA specifications, "Recording the Direct URL Origin".
"""

import json
import os
import shlex
import shutil
import sys
from importlib.util import find_spec
from urllib.parse import unquote, urlsplit


def how_to_add(extra: str) -> str:
    """The command that adds an extra to this installation."""
    # Not at the top: slow to import, and only an error needs it.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = distribution("hostbridge").read_text("direct_url.json")
    except PackageNotFoundError:
        origin = None
    return f"{_installer()} {_requirement(extra, origin)}"


def _installer() -> str:
    """`pip install`, for the environment of this interpreter."""
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None:
        return f"uv pip install --python {python}"
    pip = shutil.which("pip")
    if pip is not None and os.path.dirname(pip) == os.path.dirname(sys.executable):
        return "pip install"
    return f"{python} -m pip install"


def _requirement(extra: str, origin: str | None) -> str:
    """What to install, by the content of `direct_url.json`; None: from an index."""
    facts = json.loads(origin or "{}")
    url = facts.get("url", "")
    if "dir_info" in facts:
        flag = "-e " if facts["dir_info"].get("editable") else ""
        return flag + shlex.quote(f"{unquote(urlsplit(url).path)}[{extra}]")
    if vcs := facts.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    name = f"hostbridge[{extra}]"
    return shlex.quote(f"{name} @ {url}" if url else name)
