"""Our own agent in a session: `hostbridge-reader`, which has Read, Grep and Glob.

The plugin brings it. For settings installs it is a file of the user's, which `install`
writes, never over somebody else's, and `uninstall` removes with the last install that
needed it:

    ~/.claude/agents/hostbridge-reader.md

The client reads that folder when it starts. A session that was open before does not
know the agent; its requests run on general-purpose, and are told what is missing.
"""

from typing import Literal

from bridge.config import Settings
from bridge.errors import BridgeError
from bridge.host import replaced_file
from bridge.host.events import HookEvent
from bridge.host.install_records import InstallRecord, InstallRecords, sha256
from bridge.protocol.names import CARRIER
from bridge.shipped import agents_folder

KIND = "carrier"
OF_PLUGIN = f"hostbridge:{CARRIER}"
State = Literal["written", "there", "somebody else's"]


def known_at_start(settings: Settings, event: HookEvent, kind: str) -> str | None:
    """The name by which the client that sent this event knows it, if it does.

    Only what was there when the process started counts.
    """
    if kind == "plugin":
        return OF_PLUGIN
    is_new = event.text("source") in ("startup", "resume")
    if event.name != "SessionStart" or not is_new:
        return None
    return still_there(settings)


def still_there(settings: Settings) -> str | None:
    """Its own name, unless its file was removed, or is no longer ours."""
    try:
        state = CarrierFile(settings).state()
    except BridgeError:
        return None
    return CARRIER if state in ("there", "written") else None


class CarrierFile:
    """The file of one user: `file` is where it lies.

    Raises:
        StateRefused: our own folder is not safe to use (any method).
        SettingsUnreadable: the file cannot be read or written (any method).
    """

    def __init__(self, settings: Settings) -> None:
        agents = settings.claude_dir.absolute() / "agents"
        self.file = agents / f"{CARRIER}.md"
        self._records = InstallRecords(settings.home)

    def state(self) -> State | None:
        """What is there: None for no file, "there" for ours as it is now."""
        found = replaced_file.load(self.file)
        if found is None:
            return None
        if found == _text():
            return "there"
        record = self._records.find(self.file)
        is_ours = record is not None and record.wrote(found)
        return "written" if is_ours else "somebody else's"

    def write(self) -> State:
        """Write it, or update ours; somebody else's stays."""
        state = self.state()
        if state == "there":
            replaced_file.keep_others_out(self.file)
        if state in ("there", "somebody else's"):
            return state
        self.file.parent.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        before = replaced_file.load(self.file)
        made = self._records.has_made(self.file.parent)
        made |= replaced_file.store(self.file, _text(), before=before)
        self._records.save(
            InstallRecord(
                file=str(self.file),
                kind=KIND,
                after_sha256=sha256(_text()),
                made_folder=made,
            )
        )
        return "written"

    def remove(self) -> bool:
        """Remove it if it is ours and no install is left; whether it was removed."""
        if self._records.kinds() - {KIND}:
            return False
        record = self._records.find(self.file)
        is_ours = self.state() in ("there", "written")
        if is_ours:
            found = replaced_file.load(self.file)
            replaced_file.store(self.file, None, before=found)
            if record is None or record.made_folder:
                replaced_file.remove_folder(self.file)
                # The client does not need an empty folder; it makes its own.
                replaced_file.remove_folder(self.file.parent)
        self._records.remove(self.file)
        return is_ours


def _text() -> str:
    return (agents_folder() / f"{CARRIER}.md").read_text("utf-8")
