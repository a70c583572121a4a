"""What a server has begun ends with it."""

from threading import Event, Thread

from bridge.mcp.serving import Serving


def test_what_is_just_being_started_ends_with_the_server():
    """Its request is on the disk before anybody here knows of it."""
    serving, begun, go = Serving(1), Event(), Event()
    stopped = []

    def start():
        begun.set()
        assert go.wait(60)
        return "request"

    starting = Thread(
        target=serving.started,
        args=(start, lambda name: (name, lambda: stopped.append(name))),
    )
    ending = Thread(target=serving.end)
    starting.start()
    assert begun.wait(60)
    ending.start()
    go.set()
    for thread in (starting, ending):
        thread.join(60)

    assert stopped == ["request"]
