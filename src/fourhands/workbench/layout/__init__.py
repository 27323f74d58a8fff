"""Panes, editors, drafts and highlights: one state with one revision, and undo."""
