"""The workspace's files: reading, writing, editing, searching, watching."""
