"""What every command reads, prints and ends with."""
