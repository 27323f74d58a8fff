"""The state that a person and an agent share: terminals, editors, panes, files, journal."""
