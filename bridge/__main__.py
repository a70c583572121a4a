"""`python -m bridge`: the command line, where the `hostbridge` script is not on PATH."""

from bridge.cli.main import main

main()
