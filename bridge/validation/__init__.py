"""Validators over a change: what they say, and what follows from all of it. Pure.

complexity.py   how much a change asks for, and which validators look at it
report.py       what one validator says, as values
answers.py      the report of a validator, read from the response to its request
aggregate.py    the verdict of all of them
sarif.py        the same for editors and CI
together.py     several validators in one request
"""
