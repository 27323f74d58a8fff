"""Rehearsals: an agent's line run over an overlay of the workspace, and the way of its changes to the files."""
