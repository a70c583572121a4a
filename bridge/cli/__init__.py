"""The command line: one thin module per command, each calling the library."""
