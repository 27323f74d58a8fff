"""Agent sessions and the ways in which an agent is connected."""
