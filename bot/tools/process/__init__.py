"""Running commands that may not be trusted. Start reading at `run.py`; `supervise.py` is what it starts."""
