"""The same interrupts over HTTP: a chat with SSE, runs and approvals, AG-UI, health and metrics.

A chat is a stream of events: `text` (with `replace`, if it takes the place of what was told before), `tool_call`,
`tool_result`, `interrupt`, `decision` (somebody answered, on whichever face), and last `done` or `error`. Each has
an id; a client whose stream broke repeats its request, or follows `/api/v1/chat/{session}/events`, with that id as
`Last-Event-ID`, and hears what it missed. A run that waits for people ends the stream after `interrupt` and without
`done`, unless the client asked to `wait`. Live text is told only by the process that drives the run; from another
one, or after a restart, a turn's text comes as a whole.

Start reading at `routes.py` (every route, its scope and its models), then `stream.py` (how no event is lost).
"""
