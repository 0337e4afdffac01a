"""The Web API: a plain function per method, by family. `registry.py` lists them with scope and rate."""
