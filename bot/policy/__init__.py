"""Decides for each call: run it, ask a person, or refuse. Start reading at `evaluate.py`.

A file becomes a policy in `files` (YAML, the only door), `schema` (its shape) and `compile*` (closures). A
verdict is made in `evaluate` from what `look` sees of one call, with `builtin` for what holds whatever a file
says. `shell` proves commands or over-approximates them, `profile*` knows which of them only read.
"""
