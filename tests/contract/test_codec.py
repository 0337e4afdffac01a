"""What is stored comes back as it was, old formats stay readable, newer ones are refused."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.decision import Decision, Outcome, Respond
from bot.domain.errors import Corrupt
from bot.domain.interrupt import Interrupt
from bot.domain.run import Head
from bot.domain.transcript import Item
from bot.storage import codec
from bot.storage.codec import Codec, micros, moment

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
st.register_type_strategy(datetime, MOMENTS)
st.register_type_strategy(timedelta, st.timedeltas(timedelta(0), timedelta(days=90)))
st.register_type_strategy(
    dict,
    lambda kind: st.dictionaries(
        st.text(max_size=5), st.text(max_size=5) if get_args(kind)[1] is str else JSON, max_size=3
    ),
)
st.register_type_strategy(Respond, st.builds(Respond, data=JSON))
st.register_type_strategy(str, st.text(max_size=12))
st.register_type_strategy(int, st.integers(0, 2**40))

EVERYTHING: list[tuple[Codec[Any], Any]] = [
    (codec.HEAD, Head),
    (codec.ITEM, Item),
    (codec.INTERRUPT, Interrupt),
    (codec.OUTCOME, Outcome),
    (codec.DECISION, Decision),
]


@pytest.mark.parametrize(
    ("written", "kind"), EVERYTHING, ids=["head", "entry", "interrupt", "outcome", "vote"]
)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_everything_survives_the_round_trip(written: Codec[Any], kind: Any, data: st.DataObject) -> None:
    value = data.draw(st.from_type(kind))
    assert written.read(written.write(value), codec.FORMAT, "it") == value


@given(MOMENTS)
def test_times_survive_to_the_microsecond(when: datetime) -> None:
    assert moment(micros(when)) == when


@pytest.mark.parametrize(
    "text", ["", "null", "[]", '{"kind": "nobody"}', '{"kind":"user","author":"a"}', "{"]
)
def test_what_we_did_not_write_is_corrupt_and_says_where(text: str) -> None:
    with pytest.raises(Corrupt, match=r"entry run/7 cannot be read"):
        codec.ITEM.read(text, codec.FORMAT, "run/7")


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(Corrupt, match="newer than this program"):
        codec.ITEM.read("{}", codec.FORMAT + 1, "run/7")


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).parent.joinpath("formats").glob("*.json")), ids=lambda p: p.stem
)
def test_every_released_format_stays_readable(path: Path) -> None:
    """One example of each kind and version, as it was written then."""
    kind, version = path.stem.rsplit("_v", 1)
    by_name: dict[str, Codec[Any]] = {"head": codec.HEAD, "entry": codec.ITEM, "interrupt": codec.INTERRUPT}
    for example in json.loads(path.read_text(encoding="utf-8")):
        by_name[kind].read(json.dumps(example), int(version), "example")
