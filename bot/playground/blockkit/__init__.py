"""Block Kit, as strict as Slack: which blocks exist, what they hold, how long each part may be.

Pure. Start at `surfaces.py` (what a message or view may be), then `layout.py` and `elements.py` (the tables),
then `rules.py` (the words those tables are written in).
"""
