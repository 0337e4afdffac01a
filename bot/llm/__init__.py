"""The model behind the engine's `Model` port. Start reading at `mapping.py` (pure), then `anthropic.py`.

`offline.py` answers without a key, `scripted.py` answers what a test told it to.
"""
