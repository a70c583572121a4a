"""What an answer rests on, and whether that is still as it was."""
