"""The vocabulary of the program: calls, commands, events, errors. Knows nobody above it."""
