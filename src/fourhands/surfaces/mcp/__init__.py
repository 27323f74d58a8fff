"""MCP: the registry's commands as tools for programs that speak the Model Context Protocol.

Several clients at once are several agents. The SDK is an extra and heavy: `routes` and `command` import nothing of it
until the first client comes, everything else here may.
"""
