"""The doors: HTTP, WebSocket, proxy, MCP, ACP, command line."""
