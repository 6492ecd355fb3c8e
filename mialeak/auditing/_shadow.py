"""Audits of many examples by shadow models: a bound for each example, valid for all together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, get_args

import numpy as np

from mialeak._arrays import (
    FloatArray,
    as_choice,
    as_float,
    as_floats,
    invalid,
    require,
    unsupported,
)
from mialeak._checks.audits.scores import refuse_turned
from mialeak._report.document import Document
from mialeak._report.report import Panel, Report
from mialeak._results import Kind, as_confidence
from mialeak._warnings import warn
from mialeak.auditing._checks import refuse_other_order, warn_of_columns_as_models
from mialeak.auditing._documents import shadow_columns, shadow_document, shadow_panel
from mialeak.auditing._multiple_tests import benjamini_hochberg, holm, hommel
from mialeak.auditing._shadow_design import BoolArray, Design, example_names, readings_of
from mialeak.auditing._shadow_guesses import AllReadings, Guesses
from mialeak.auditing._shadow_order import warn_of_sorted_scores, warns_of_another_order
from mialeak.auditing._shadow_pairs import ExamplePairs

__all__ = ["ShadowAudit", "shadow_audit"]

Method = Literal["guesses", "rank-pairs", "both"]


@dataclass(frozen=True, repr=False, eq=False)
class ShadowAudit(Report):
    """What shadow models prove of each example.

    ``print(result)`` writes it out for people; a notebook shows it, :meth:`plot` draws the bounds,
    :meth:`to_html` writes a page, :meth:`to_frame` lists the examples.

    Attributes
    ----------
    epsilon_lower : ndarray, shape (n,)
        Lower bounds that hold for all examples together (Bonferroni).
    epsilon_each : ndarray, shape (n,)
        Lower bounds that hold for each example by itself: of n examples that leak nothing about
        ``(1 - confidence) n`` are above 0.  Not for an example that was chosen by its bound.
    p_values : ndarray, shape (n,)
        Of the claim that the example's epsilon is at most `claimed_epsilon`.
    proved : ndarray of bool, shape (n,)
        Examples of which the claim is refuted, with no false one among them with probability
        `confidence` (Holm).
    at_least : int
        At least so many examples violate the claim, with the same confidence; which ones is not
        stated (Hommel's closed testing, for scores that depend on no coin; with rank pairs the
        number proved).
    discoveries : ndarray of bool, shape (n,)
        Examples of which an expected share of ``1 - confidence`` at most is false (Benjamini and
        Hochberg, for scores that depend on no coin; with rank pairs Benjamini and Yekutieli).
    provable_epsilon : float
        What so many models prove together of each of so many examples at most.
    n_models, n_examples : int
    claimed_epsilon, confidence : float
        As given.
    design : str
        "coins"; "half": each example is in exactly half of the models; "pairs": of two models in a
        row, or of one and its fellow in the other half of the rows, one has the example.  Of so few
        examples that fair coins may have put each into half of the models, it is "half", and a
        p-value is the largest of those for each design that may have made the coins.
    method : str
        As given.
    names : tuple of str, optional
        Of the examples, where the columns of scores have names.
    kind : str
        "bound".

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.auditing import shadow_audit
    >>> rng = np.random.default_rng(0)
    >>> members = rng.random((64, 100)) < 0.5
    >>> leak = np.where(np.arange(100) < 10, 4.0, 0.0)
    >>> result = shadow_audit(rng.normal(leak * members), members)
    >>> int(result.proved.sum()), int(result.proved[:10].sum()), result.at_least
    (10, 10, 10)
    """

    epsilon_lower: FloatArray
    epsilon_each: FloatArray = field(repr=False)
    p_values: FloatArray = field(repr=False)
    proved: BoolArray = field(repr=False)
    at_least: int
    discoveries: BoolArray = field(repr=False)
    provable_epsilon: float
    n_models: int
    n_examples: int
    claimed_epsilon: float
    confidence: float
    design: Design
    method: Method = "guesses"
    names: tuple[str, ...] | None = field(default=None, repr=False)
    kind: Kind = "bound"

    _title = "What these shadow models prove"

    def document(self) -> Document:
        """The content of the report, without a layout."""
        return shadow_document(self)

    def panels(self) -> list[Panel]:
        """The bounds of all examples, from the largest."""
        return [shadow_panel(self)]

    def _table(self) -> dict[str, Any]:
        return shadow_columns(self)


def shadow_audit(
    scores: Any,
    members: Any,
    *,
    claimed_epsilon: Any = 0.0,
    confidence: Any = 0.95,
    higher_is_member: bool = True,
    method: Method = "guesses",
) -> ShadowAudit:
    """Lower bounds on the epsilon of each example, from the scores of shadow models.

    Parameters
    ----------
    scores : array_like, shape (M, n)
        Score of each of n examples by each of M models, such as minus its loss.  **A score may
        depend on the outputs of all models, and on no coin of its example in any model.**  Scores
        that depend on coins of other examples leave `epsilon_lower` and `proved` valid, and not
        `at_least` and `discoveries`.  LiRA's own scores are not admissible: they fit the in- and
        out-models of the example, which are its coins (leave-one-out calibration gave 17 false
        claims in 100 where nothing leaked).  Pass the logit-scaled confidences themselves.
    members : array_like of bool, shape (M, n)
        Whether the example was in the training data of the model.  **A fair coin for each**,
        independent of all else; or each example in exactly half of the models, chosen at random; or
        pairs of models, the second with exactly the examples that the first has not.
    claimed_epsilon : float, default 0.0
        The claim that is tested for each example: its epsilon is at most this.
    confidence : float
        At least 0.5 and below 1.
    higher_is_member : bool
        Whether larger scores speak for a member.  Decide before seeing the scores.
    method : {"guesses", "rank-pairs", "both"}
        The test of an example: guesses of its coins; rank pairs, as :func:`audit` uses them; or the
        better one, each with half of the error.  Rank pairs ask for more: **models trained alike
        and scores that depend on their own model only**, each example by a fair coin.  They prove
        more where a part of the models remembers an example.  Decide before seeing the scores.

    Returns
    -------
    ShadowAudit

    Raises
    ------
    ValueError
        For shapes that differ, scores that are not finite or are flags, members other than 0 and 1,
        coins that are not fair (exact test at 1e-6, of all, of each model and of each example),
        models with the same coins, more examples with the coins of others than chance makes (1e-6),
        scores that point the other way, and rank pairs with exactly half of the models for each
        of several examples.

    Warns
    -----
    UserWarning
        If so few models can prove nothing of an example, as a single one; if each model has
        exactly half of the examples: their coins are then not independent; if rows, of which
        there are more than columns, differ as examples do, and columns do not; if scores agree with
        the flags of other models or other examples, and not with their own; and for sorted scores
        that prove no more than chance does.

    See Also
    --------
    one_run_audit : the epsilon of the training, from canaries of one run.
    audit : one example, all models.

    Notes
    -----
    Given all outputs and all *other* coins, a coin of an example whose epsilon is at most e is
    guessed right with probability at most ``q = e^e / (1 + e^e)``.  Here a score above the
    example's median is a guess *in*, of weight ``(rank of its distance / M)^2`` in 64 steps; the
    right guesses of the example are dominated by independent coins of probability q, and its
    p-value is the exact tail of their weighted number.  Each p-value is at most x with probability
    x at most, whatever the dependence of the scores: Bonferroni's bounds and Holm's procedure take
    no more.  Of guesses made of outputs alone the p-values of different examples are dominated by
    independent ones where the claim holds, as Hommel's (Simes' inequality) and Benjamini and
    Hochberg's procedures ask.  They would not be with coins of other examples among the scores: of
    two examples, each scored by the coins of the other, exactly one can be right in each model.

    Epsilon is pure (delta = 0), of adding or removing the row.  With exactly half of the models for
    each example the number of right guesses *in* has Fisher's noncentral hypergeometric law, of
    odds ``e^(2 e)`` at most, without weights.

    With rank pairs the scores with and without the example are independent draws of two laws, and
    the counts at ranks 1, 3, 9, ... from either end have the exact p-values of :func:`audit`.
    Examples share models, so that their p-values depend on one another in ways that no proof of
    Simes' inequality covers.  Of 2,000 examples, of which 150 leak, the share of these 150 that is
    proved, by guesses and by rank pairs: 0.91 and 0.66 for 64 models and a shift of 1.5 standard
    deviations; 0.19 and 0.34 where 40 % of the 64 models remember the example (a shift of 5); 0.24
    and 0.98 where 20 % of 256 models do.

    **Accuracy.**  Sums of products of positive numbers: relative error 1e-12.  Bounds are rounded
    down to a multiple of 0.01.

    **Cost.**  Two sorts of each column, and one table: 0.1 s for 64 models and 2,000 examples, 2.2
    s for 256 and 50,000, on one core.  Rank pairs: 0.5 s and 10 s.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.auditing import shadow_audit
    >>> rng = np.random.default_rng(1)
    >>> members = rng.random((64, 500)) < 0.5
    >>> scores = rng.normal(size=(64, 500))
    >>> scores[:, 0] += 5.0 * members[:, 0]
    >>> result = shadow_audit(scores, members)
    >>> np.flatnonzero(result.proved), round(float(result.epsilon_lower[0]), 2)
    (array([0]), 1.76)
    """
    as_choice(method, "method", get_args(Method))
    level, claim = as_confidence(confidence), as_float(claimed_epsilon, "claimed_epsilon")
    require(claim >= 0.0, claim, "claimed_epsilon", "be at least 0")
    values, coins = _tables(scores, members)
    models, examples = values.shape
    readings = readings_of(coins)
    design = readings[0].design
    # Of one example alone the scores are independent, given its coins.
    if method != "guesses" and (design == "pairs" or (design == "half" and examples > 1)):
        why = "the scores of different models are then not independent"
        remedy = 'Take method="guesses"'
        unsupported(f"method={method!r}", "with each example in half of the models", why, remedy)
    values = values if higher_is_member else -values
    guesses = [Guesses(values, coins, reading) for reading in readings]
    if not warns_of_another_order(values, coins, design):
        guesses[0].require_direction(higher_is_member=higher_is_member)
    together, error = (1.0 - level) / examples, 1.0 - level
    tests: list[AllReadings | ExamplePairs] = []
    if method != "rank-pairs":
        tests.append(AllReadings(guesses))
    if method != "guesses":
        tests.append(ExamplePairs.of(values, coins))
    share = 1.0 / len(tests)

    def bounds(alpha: float) -> FloatArray:
        return np.asarray(np.max([test.bounds(error, share * alpha) for test in tests], axis=0))

    p_values = np.min([test.p_values(claim) for test in tests], axis=0) / share
    p_values = np.minimum(p_values, 1.0)
    provable = max(test.provable(error, share * together) for test in tests)
    if provable == 0.0:
        pair = 2.0 if design == "pairs" else 1.0
        _warn_of_no_power(models, examples, -np.log2(together) * pair)
    proved, is_plain = holm(p_values, error), method == "guesses"
    # Benjamini and Yekutieli: at this share of the level whatever the dependence.
    shared = error if is_plain else error / float(np.sum(1.0 / np.arange(1.0, examples + 1.0)))
    largest = bounds(together)
    if np.count_nonzero(largest) <= error * examples:
        warn_of_sorted_scores(values)
    return ShadowAudit(
        epsilon_lower=largest,
        epsilon_each=bounds(error),
        p_values=p_values,
        proved=proved,
        at_least=hommel(p_values, error) if is_plain else int(proved.sum()),
        discoveries=benjamini_hochberg(p_values, shared),
        provable_epsilon=provable,
        n_models=models,
        n_examples=examples,
        claimed_epsilon=claim,
        confidence=level,
        design=design,
        method=method,
        names=example_names(scores),
    )


def _tables(scores: Any, members: Any) -> tuple[FloatArray, BoolArray]:
    """Scores and coins, models by examples, checked."""
    if isinstance(scores, np.ndarray) and scores.dtype == np.bool_:
        rule = "be scores of an attack; its entries are booleans, as those of members are"
        invalid("scores", rule, remedy="Call shadow_audit(scores, members)")
    refuse_other_order(scores, members, "members")
    refuse_other_order(getattr(scores, "T", None), getattr(members, "T", None), "members.T")
    frame = scores if hasattr(scores, "columns") else members
    if hasattr(frame, "columns"):
        axes: list[Any] = [getattr(frame, each, []) for each in ("index", "columns")]
        rows, columns = ((getattr(axis, "name", None), axis) for axis in axes)
        refuse_turned(rows, columns)
    values, flags = as_floats(scores, "scores", finite=True), as_floats(members, "members")
    for name, given in (("scores", values), ("members", flags)):
        if given.ndim != 2:
            _refuse_axes(name, given.shape)
    if not values.size:
        invalid("scores", f"hold a model and an example; its shape is {values.shape}")
    if flags.shape != values.shape:
        turned = "; one of the two is transposed" if flags.shape == values.shape[::-1] else ""
        rule = f"have the shape of scores, {values.shape}, models by examples{turned}"
        invalid("members", f"{rule}; its shape is {flags.shape}")
    require((flags == 0.0) | (flags == 1.0), flags, "members", "hold 0 and 1 only")
    if ((values == 0.0) | (values == 1.0)).all():
        rule = "be scores of an attack; all are 0 or 1, as flags are"
        invalid("scores", rule, remedy="Write the guesses of an attack as -1 and 1")
    warn_of_columns_as_models(values)
    return values, flags == 1.0


def _refuse_axes(name: str, shape: tuple[int, ...]) -> NoReturn:
    remedy = ""
    if len(shape) == 3:
        one = "mean(axis=2)" if name == "scores" else "[:, :, 0]"
        one = f"{name}.{one}".replace(".[", "[")
        remedy = f"Of several queries of an example pass one number, such as {one}"
    elif len(shape) == 1:
        remedy = "For the canaries of one model call one_run_audit(scores, member)"
    invalid(name, f"have 2 dimensions, models by examples; its shape is {shape}", remedy=remedy)


def _warn_of_no_power(models: int, examples: int, wanted: float) -> None:
    """Warn of so few models that no attack proves anything."""
    what = "one model proves" if models == 1 else f"{models} models prove"
    least = int(np.ceil(wanted))
    warn(
        f"{what} nothing of a single one of {examples} examples, together with all others: that "
        f"takes {least} models at least. Of so few models only the number of examples that leak "
        "(at_least) may be proved, and not which ones. For a bound on the training pass the scores "
        "of one model to one_run_audit",
    )
