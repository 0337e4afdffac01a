"""The six policies of the sample cases, on their test file system."""

from pathlib import Path

import pytest

from bot.policy.files import PolicySet, load
from tests.policy.fakes import TableResolver

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def policies() -> PolicySet:
    return load(HERE / "policies", resolver=TableResolver())
