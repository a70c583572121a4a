"""One page that shows what became of all that was asked: charts and tables in HTML."""
