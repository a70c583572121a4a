"""Text for people: widths, tables, times, numbers."""
