"""`python -m bridge`: the command line, where `hostbridge` is not on PATH."""

from bridge.cli.entry import main

main()
