"""The databases of the contract suite, for what time asks of them."""

from tests.contract.conftest import database, postgres_url, store

__all__ = ["database", "postgres_url", "store"]
