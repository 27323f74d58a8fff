"""ACP's elicitation: what an agent asks the person to fill in or to open."""
