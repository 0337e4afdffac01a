"""The commands people type. `main.py` is the table of them; each other module is one command."""
