"""What a model is told: instructions, commands, state and feedback."""
