"""Classification of single programs by their arguments."""
