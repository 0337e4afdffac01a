"""Slack as a front: people ask, approve, edit and reject in the thread.

Start reading at `routes.py` (what Slack sends, and who handles it), then `listeners/` (each commits one durable
step), `poster.py` (the one writer of messages) and `views/` (what they look like; pure). `app.py` and `socket.py`
are the shell around Bolt.
"""
