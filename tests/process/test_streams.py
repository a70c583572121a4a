"""The pipes of a child process are read to their end."""

from __future__ import annotations

import subprocess

from bridge.process.streams import Streams


def test_done_means_that_both_outputs_have_ended():
    """Only then may the caller wait for the process instead of the pipes."""
    with subprocess.Popen(
        ["sh", "-c", "exec 2>&-; cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    ) as process:
        taken = bytearray()
        streams = Streams(process, taken.extend)
        assert not streams.is_done
        streams.send(b"said", is_last=True)
        while streams.stdout_is_open:
            assert not streams.is_done
            streams.move(1)

        while streams.move(0):
            pass
        assert streams.is_done
        streams.close()
    assert taken == b"said"
