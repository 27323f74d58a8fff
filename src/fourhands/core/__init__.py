"""The vocabulary of the program: calls, commands, events, errors. Imports nothing above it."""
