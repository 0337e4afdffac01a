"""The same interrupts over HTTP: a chat with SSE, runs and approvals, AG-UI, health and metrics.

Start reading at `routes.py` (every route, its scope and its models), then `stream.py` (how no event is lost).
"""
