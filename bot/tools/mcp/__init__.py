"""Tools of MCP servers. Start reading at `servers.py`; `connection.py` is the hard part."""
