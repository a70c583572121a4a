"""What the benchmarks share: timing processes, taking turns, printing a table.

A figure alone says little on a busy machine. Every one stands beside its floor,
measured in the same run, turn and turn about, and medians are compared.
"""
