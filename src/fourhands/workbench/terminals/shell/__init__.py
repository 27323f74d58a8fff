"""Shells: how they are started with integration, and what their marks tell."""
