"""What the benchmarks share: timing processes, taking turns, printing a table.

A figure alone says little on a busy machine. Each one is compared with its floor, which
is measured in the same run and in turn; the medians are compared.
"""
