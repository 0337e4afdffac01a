"""Askfirst: a Slack bot whose agents ask before they act. Start reading at `engine/runner.py`."""
