"""Decides for each call: run it, ask a person, or refuse. Start reading at `evaluate.py`."""
