"""The tables of what reads typed text: programs, and languages with their prompts and what is dangerous in them."""
