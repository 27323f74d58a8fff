"""Agents on an OpenCode server."""
