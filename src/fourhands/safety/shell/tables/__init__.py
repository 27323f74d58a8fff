"""Data of the classifier: names, options and subcommands."""
