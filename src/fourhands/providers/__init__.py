"""Providers of places to run commands: this machine, a sandbox, a container."""
