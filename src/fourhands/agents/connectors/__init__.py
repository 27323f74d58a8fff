"""Connectors: what drives an agent, turn by turn."""
