"""Terminals: typing, reading, waiting, running, and who may do it when."""
