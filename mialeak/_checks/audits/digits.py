"""Scores of two worlds that are written with different numbers of digits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mialeak._arrays import FloatArray

__all__ = ["cautions_of_digits"]

#: So many scores of a world are looked at, evenly spaced among the sorted ones.
_SAMPLE = 1000
#: Fewest scores that are no whole numbers, and different ones of them, of which rounding is seen.
_FEWEST, _VALUES = 20, 5
#: Places behind the point of a score that is not rounded.
_MOST_PLACES = 12


def cautions_of_digits(inside: FloatArray, outside: FloatArray) -> list[str]:
    """A caution where the scores of one world are rounded, and most of the other's are not so.

    They then have fewer places behind the point, and fewer digits too: of numbers with the same
    digits the smaller ones have more places.  Or they have single precision, and the others more.
    """
    worlds = [_fractions(inside), _fractions(outside)]
    if min(map(len, worlds)) < _FEWEST:
        return []
    written = [_written(scores) for scores in worlds]
    names = ("members", "others")
    for one in (0, 1):
        scores, beside, world, other = worlds[one], worlds[1 - one], names[one], names[1 - one]
        if len(np.unique(scores)) < _VALUES:
            continue
        (places, digits), (other_places, other_digits) = written[one], written[1 - one]
        most = int(places.max())
        if most < np.median(other_places) and digits.max() < np.median(other_digits):
            how = f"have at most {most} places behind the point"
        elif _is_single(scores).all() and np.mean(_is_single(beside)) < 0.5:
            how = "have single precision"
        else:
            continue
        return [
            f"Scores of {world} {how}, and most scores of {other} have more. Where scores are near "
            "the end of their range, such as 1, rounding alone sets the worlds apart. Write the "
            "scores of both in the same way, with all digits."
        ]
    return []


def _fractions(scores: FloatArray) -> FloatArray:
    """Some of the sorted scores that are no whole numbers."""
    sample = scores[:: max(1, len(scores) // _SAMPLE)]
    sample = sample[np.isfinite(sample)]
    return np.asarray(sample[sample != np.rint(sample)])


def _written(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The places behind the point of each score, at most 12, and its digits up to that place."""
    places = np.full(len(scores), float(_MOST_PLACES))
    for place in range(_MOST_PLACES - 1, 0, -1):
        places[np.round(scores, place) == scores] = place
    return places, places + np.floor(np.log10(np.abs(scores))) + 1.0


def _is_single(scores: FloatArray) -> npt.NDArray[np.bool_]:
    with np.errstate(over="ignore"):
        return np.equal(scores.astype(np.float32), scores)
