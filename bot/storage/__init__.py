"""Rows for runs, transcripts, interrupts and the audit log.

Start reading at `transactions.py`; every statement is in `sql/statements.sql`, once for both databases.
"""
