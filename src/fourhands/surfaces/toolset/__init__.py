"""The door of Python's `Toolset`: tools for an agent loop in another program, by one WebSocket."""
