"""The process that reads a change: it can start, connect to and write nothing.

    python -EPB reader.py PROJECT MOMENT

Reads {"scope", "max_chars"} from stdin and prints a `Change`, or {"paths"} and prints
{"known", "new"}, or {"identity"} and prints {"head", "root"}. Otherwise {"refused",
"ways"} for a scope that names nothing; {"error"}; or {"late"} if nothing could be said
by that moment (monotonic). Whatever a repository does to it (a cut pack, a pipe for its
configuration, a blob that unpacks to gigabytes) ends here.
"""

import json
import os
import resource
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

_MAX_MEMORY = 2 * 1024**3
# Prefixes of the audit events that a reader does not need.
_FORBIDDEN = (
    "subprocess.", "socket.", "shutil.", "ctypes.", "os.system", "os.exec", "os.fork",
    "os.posix_spawn", "os.spawn", "os.startfile", "os.kill", "os.remove", "os.rename",
    "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
    "os.chown", "os.utime", "os.setxattr", "os.removexattr", "tempfile.", "pty.",
)  # fmt: skip
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Forbidden(BaseException):
    """Something tried to do more than read; no handler of a library catches it."""


def confine() -> None:
    """From now on this process only reads. There is no way back."""
    # Not every system has this limit; more may be reserved already.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))

    def look(event: str, arguments: tuple[object, ...]) -> None:
        flags = arguments[2] if event == "open" else 0
        if event.startswith(_FORBIDDEN) or (isinstance(flags, int) and flags & _WRITES):
            raise Forbidden(f"{event} is not for a reader")

    sys.addaudithook(look)


def main(project: str, moment: str) -> None:
    """Read, and print what is known at that moment."""
    # Under -P our package may not be on the path; it goes behind everything else.
    sys.path.append(os.path.abspath(__file__ + "/../../.."))
    from bridge.change.comparison import compare
    from bridge.change.git_folder import Unreadable
    from bridge.change.repository import Repository
    from bridge.change.scope import scope_of
    from bridge.change.two_sides import known_files
    from bridge.errors import InvalidRequest
    from bridge.process.time_limit import TooSlow

    asked = json.load(sys.stdin)
    confine()
    said: dict[str, object]
    try:
        if "identity" in asked:
            said = {**Repository(Path(project)).identity()}
        elif "scope" not in asked:
            paths = tuple(asked["paths"])
            said = {**known_files(Path(project), paths, until_s=float(moment))}
        else:
            said = asdict(
                compare(
                    Path(project),
                    scope_of(asked["scope"]),
                    until_s=float(moment),
                    max_chars=asked["max_chars"],
                )
            )
    except InvalidRequest as exc:
        said = {"refused": exc.what, "ways": exc.ways}
    except Unreadable as exc:
        said = {"error": ". What to do: ".join([str(exc), *exc.ways[:1]])}
    except TooSlow:
        said = {"late": True}
    except (Forbidden, MemoryError, RecursionError) as exc:
        said = {"error": f"{type(exc).__name__}: {exc}"}
    except Exception as exc:  # noqa: BLE001 - a broken repository raises anything
        said = {"error": f"the repository is broken: {type(exc).__name__}: {exc}"[:300]}
    sys.stdout.write(json.dumps(said, ensure_ascii=True))


if __name__ == "__main__":
    main(*sys.argv[1:3])
