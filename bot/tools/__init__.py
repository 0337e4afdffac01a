"""The hands of the agent, behind one gate. Start reading at `tool.py`, then `registry.py`."""
