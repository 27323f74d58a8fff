"""Safety rules: command classification, text sanitizing, path confinement, environments, redaction."""
