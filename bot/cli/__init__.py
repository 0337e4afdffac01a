"""Commands for people at a terminal. Each module adds one command to the parser."""
