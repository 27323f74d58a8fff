"""The model-side proxy: between an agent and its model's server."""
