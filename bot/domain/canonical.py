"""One spelling for every JSON value, so that equal things have equal digests."""

import hashlib
import json
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]


def canonical(value: object) -> str:
    """Return `value` as JSON with sorted keys and no spaces; refuse what JSON cannot say (NaN, sets, …)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical form, in hex."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()
