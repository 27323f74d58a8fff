"""The network of a cell: connections out by host name, and ports of its programs opened to the person.

A program of ours runs in the cell's network namespace (`inside*.py`, standard library only): it answers names,
accepts connections and passes each accepted socket to the server, which decides and connects (`egress.py`).
"""
