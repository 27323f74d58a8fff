"""The briefing of a model: instructions, commands, state and feedback."""
