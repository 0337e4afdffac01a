"""Tools of MCP servers. Start reading at `servers.py`, then `server.py`; `connection.py` is the hard part."""
