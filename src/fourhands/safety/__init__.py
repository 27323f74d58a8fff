"""Judging commands, cleaning text, confining paths, choosing environments, hiding secrets."""
