"""Names split into words: the truth is a reader of the names."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from mialeak._checks.names import is_called, is_copies_name, is_count_name, word_of, words_of
from mialeak._checks.tables.cautions import is_share, is_unit

#: Names, and the words that a person reads in them.
WORDS = {
    "train_loss": "train loss",
    "trainLoss": "train loss",
    "LRScore": "lr score",
    "negLoss": "neg loss",
    "neglogp": "neg logp",
    "Negativelogit": "negative logit",
    "negotiation": "negotiation",
    "lo95": "lo 95",
    "CI upper (95 %)": "ci upper 95",
    "échantillon_2": "échantillon 2",
    "stikprøveStørrelse": "stikprøve størrelse",
    "1000s": "1000 s",
    "": "",
    "__": "",
}


@pytest.mark.parametrize("name", WORDS)
def test_words_are_those_that_a_person_reads(name):
    words = WORDS[name].split()
    assert words_of(name) == words + [a + b for a, b in pairwise(words)]


def test_names_that_are_no_text_have_words():
    assert words_of(2020) == ["2020"]
    assert words_of(("count", "f")) == ["count", "f", "countf"]


@pytest.mark.parametrize("name", [".id", "ID_", " id ", "Id."])
def test_a_whole_name_has_no_signs_at_its_ends(name):
    assert word_of(name) == "id"


@pytest.mark.parametrize(
    "name", ["crossentropy", "cross_entropy", "Cross Entropy", "crossEntropy", "cross-entropy"]
)
def test_two_words_in_turn_are_one(name):
    assert is_called(name, re.compile("crossentropy"))
    assert not is_called(name[::-1], re.compile("crossentropy"))


def test_what_reads_words_reads_the_same_words():
    assert all(map(is_share, ["meanIncome", "pct", "% of all", "per 1000", "PersonYears"]))
    assert not any(map(is_share, ["n", "count", "meaning", "rateable", "1000s"]))
    assert is_unit("1000s")
    assert all(map(is_copies_name, ["timesSeen", "times_seen", "nCopies", "n", "Repeats_2"]))
    assert all(map(is_count_name, ["_FREQ_", "_freq", "Count", "n.", "count(*)"]))
    assert not any(map(is_count_name, ["account", "nn", ""]))
