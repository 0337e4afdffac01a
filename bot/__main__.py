"""`python -m bot`, the same as the `askfirst` command."""
