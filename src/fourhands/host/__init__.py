"""The process that owns the PTYs and their logs, and the server's link to it."""
