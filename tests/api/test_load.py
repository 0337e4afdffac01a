"""Five hundred open streams."""

import pytest

from benchmarks.api import STREAMS, WORDS, measure


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_five_hundred_open_streams_lose_no_event() -> None:
    figures = await measure()
    assert figures["wrong"] == 0
    # Each hears at least the text and that it is over; text that piled up may come in fewer, larger pieces.
    assert 2 * STREAMS <= figures["events"] <= STREAMS * (WORDS + 1)
