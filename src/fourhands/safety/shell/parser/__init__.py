"""Shell text as commands, words and redirections, the way bash reads it."""
