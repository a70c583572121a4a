"""A book: files of one kind beside the requests, `<folder>/<name><suffix>`.

Each holds one value, is read whole and written whole. One that cannot be read counts as
not there, and the next change writes it anew: nothing here decides about a request.
Only one of a newer hostbridge stays as it is. A change takes the store's lock if that
is free in time, and is made in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from bridge.errors import NewerSchema
from bridge.protocol.plain_json import JSONDecodeError
from bridge.protocol.record import R, Unparsable, parse
from bridge.store.directory import MAX_FILE_BYTES, NotAPlainFile
from bridge.store.state import State

T = TypeVar("T")

# What a conversation keeps beside its record (`variables`, `step_states`): an agent,
OF_AN_AGENT = (".vars", ".steps", ".steps-ended", ".calls")
# and a session that may still be resumed; its sign for the shell last.
OF_A_SESSION = (".vars.json", ".steps.json", ".steps-ended.json", ".steps")


class Book(NamedTuple, Generic[T]):
    """The files of one kind; `read` and `write` turn one into a value and back.

    Files of more than `limit` bytes are not ours. No change waits for the disk.
    """

    folder: str
    suffix: str
    read: Callable[[bytes], T]
    write: Callable[[T], bytes]
    limit: int = MAX_FILE_BYTES

    @classmethod
    def of(cls, folder: str, kind: type[R], suffix: str = ".json") -> Book[R]:
        """A book of records of one kind."""
        return Book(folder, suffix, partial(parse, kind), kind.to_json)

    def names(self, store: State) -> list[str]:
        """What the files are called, without the suffix, in no order."""
        with store.state() as state:
            return state[self.folder].names(self.suffix)

    def get(self, store: State, name: str) -> T | None:
        """The value in a file; None if there is none, or it cannot be read."""
        with suppress(NewerSchema):
            return self.known(store, name)
        return None

    def known(self, store: State, name: str) -> T | None:
        """As `get`, for who then writes the file.

        Raises:
            NewerSchema: a newer hostbridge wrote it: it would be lost.
        """
        unreadable = Unparsable, NotAPlainFile, JSONDecodeError
        with store.state() as state, suppress(*unreadable):
            folder, file = state[self.folder], name + self.suffix
            data = folder.read(file, self.limit)
            try:
                return self.read(data) if data else None
            except NewerSchema as exc:
                raise NewerSchema(f"{folder.path}/{file}: {exc}") from None
        return None

    def all(self, store: State) -> list[T]:
        """The values of all files that can be read, in no order."""
        with store.state() as state:
            found = [self.get(state, name) for name in self.names(state)]
        return [value for value in found if value is not None]

    def put(self, store: State, name: str, value: T) -> None:
        """Write a file, whatever it held."""
        with store.state() as state:
            file, data = name + self.suffix, self.write(value)
            state[self.folder].replace(file, data, durable=False)

    def change(self, store: State, name: str, changed: Callable[[T | None], T]) -> None:
        """Write what becomes of the value of a file, which may not be there.

        Hooks note what they see by this: they go on beside a newer hostbridge.
        """
        with store.state() as state, state.hold_if_free(), suppress(NewerSchema):
            self.put(state, name, changed(self.known(state, name)))

    def forget(self, store: State, name: str) -> None:
        """Remove a file, if it is there."""
        with store.state() as state:
            state[self.folder].remove(name + self.suffix)
