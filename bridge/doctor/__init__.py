"""What is wrong, with cause and cure: small checks, one table (`examine`)."""
