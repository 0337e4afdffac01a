"""The agent loop that stops, waits for days and goes on. Start reading at `machine.py`, then `runner.py`."""
