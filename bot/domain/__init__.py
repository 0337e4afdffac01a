"""The words of Askfirst as plain values: no I/O, no clock, no vendor.

Start with `transcript.py` (what happened), `run.py` (where a run stands) and `interrupt.py` (what it asks).
"""
