"""Terminal bytes as the text a person would see."""
