"""Where commands run: this machine, a sandbox, a container."""
