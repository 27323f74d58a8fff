"""Checkpoints: what the workspace held at a moment, kept in a git repository of the server's own, and put back."""
