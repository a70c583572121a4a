"""Pure values: requests, responses, answers and the rules they obey. No I/O."""
