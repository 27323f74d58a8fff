"""Confinement of paths to the workspace: the deny-lists, and a walk that cannot be raced."""
