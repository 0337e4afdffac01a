"""The tools that come with Askfirst. `assemble.py` builds them all."""
