"""The surfaces: HTTP, WebSocket, proxy, MCP, ACP, command line."""
