"""`%%OS{…}%%` blocks: found in a model's text, taken out of it, run."""
