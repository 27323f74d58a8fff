"""HTTP and WebSocket: access, routes, terminal viewers, the page."""
