"""Removal of secrets from text that agents read."""
