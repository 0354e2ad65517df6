"""Prefixes that LIKE reads as patterns: what they begin with, and whether a text matches one as a whole."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.expressions.functions.patterns import like_regex

SIGNS = r"[%_\\]"


def heads(prefixes: pa.Array, suffix: str | None) -> pa.Array:
    """What each text that matches begins with, as bytes: of a pattern all before its first sign.

    >>> heads(pa.array(["ab", "a%b", None]), "%").to_pylist()
    [b'ab', b'a', None]
    """
    plain = prefixes
    if suffix is not None:
        plain = pc.list_element(pc.split_pattern_regex(prefixes, SIGNS, max_splits=1), 0)
    return plain.cast(pa.binary())


def patterned(prefixes: pa.Array, suffix: str) -> npt.NDArray[np.bool_]:
    """For which of them it is not enough to begin with their heads: they hold signs of LIKE, or must end somewhere.

    >>> patterned(pa.array(["ab", "a%b", None]), "%").tolist()
    [False, True, False]
    """
    if suffix != "%":
        return np.ones(len(prefixes), dtype=np.bool_)
    found = pc.fill_null(pc.match_substring_regex(prefixes, SIGNS), False)
    signs: npt.NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
    return signs


def bad_pattern(prefixes: pa.Array, suffix: str) -> str | None:
    r"""The first of them that is no pattern of LIKE with what follows it.

    >>> bad_pattern(pa.array(["a%", "a\\b"]), "%")
    'a\\b'
    """
    some = prefixes.filter(pc.match_substring_regex(prefixes, SIGNS))
    return next((text for text in some.to_pylist() if like_regex(f"{text}{suffix}") is None), None)


def keeps(texts: pa.Array, prefixes: pa.Array, suffix: str, asked: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which pairs of a text and a pattern match, of those where that is `asked`; the others do."""
    kept = np.ones(len(texts), dtype=np.bool_)
    at = np.flatnonzero(asked)
    encoded = prefixes.take(pa.array(at)).dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    for number, pattern in enumerate(encoded.dictionary.to_pylist()):
        mine = at[codes == number]
        regex = like_regex(f"{pattern}{suffix}")
        assert regex is not None, pattern  # noqa: S101  (such a registration is refused)
        found = pc.match_substring_regex(texts.take(pa.array(mine)), regex)
        kept[mine] = found.to_numpy(zero_copy_only=False)
    return kept
