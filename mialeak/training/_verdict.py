"""What an audit of DP-SGD proves: the result, its verdict, and its report."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, gammaln

from mialeak._arrays import FloatArray
from mialeak._report.document import Document, Notes, Section, Table
from mialeak._report.report import Panel, Report, bound_panel
from mialeak._report.text import at_least, at_most
from mialeak._results import Kind, Result
from mialeak.auditing import OneRunResult
from mialeak.training._attack import CovarianceAttack

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DPSGDAudit", "Verdict", "judge"]

Verdict = Literal["refuted", "not refuted", "proved", "untested"]

#: Scores that know nothing give so few right guesses with this probability at most.
_REVERSED = 5e-4
#: Scores that coins have a part in are sorted with this probability at most.
_CHANCE = 1e-6
#: Areas under the curve that canaries lose to one another before they are called hidden.
_HIDDEN = 0.05
#: An area under the curve that is enough: 100 such canaries without noise refute an epsilon of 2.
_STRONG = 0.95
#: Share of the stated noise below which the noise that the steps show is named.
_LESS = 0.9
#: Times the stated noise above which the known rows do not explain the steps.
_MORE = 1.5
#: What the column of the control means.
_CONTROL = (
    "The control is the same training broken on purpose: an attack that proves nothing of it is no "
    "evidence about the training."
)
_NO_CONTROL = "No control was run: a proof of 0 is then no evidence about the training."


@dataclass(frozen=True, repr=False, eq=False)
class DPSGDAudit(Report):
    """What one training with canaries proves, and how.

    ``print(result)`` writes it out for people, beside the control; a notebook shows it,
    :meth:`plot` draws the bounds and the scores, :meth:`to_html` writes a page, :meth:`to_frame`
    lists the canaries.

    Attributes
    ----------
    bound : OneRunResult
        Its ``epsilon_lower`` is what is proved.
    member : ndarray of bool, shape (m,)
        Which canaries were in.
    scores : ndarray, shape (m,)
        What the training gave for each.
    guesses : ndarray of int, shape (m,)
        1 for those guessed in, -1 for those guessed out, 0 for the others.
    verdict : str
        "refuted": more is proved than is claimed, of epsilon or of mu.  "proved": an epsilon above
        0 is proved, and none was claimed.  "not refuted": the claim stands against an audit that
        refuted it for the control.  "untested": nothing that was asked for is proved, and no
        control was caught.  That is no evidence about the training.
    statement : str
        The verdict as a sentence.
    mu_lower : float or None
        The training is not mu-Gaussian differentially private for any smaller mu.  Where the
        training returned a :class:`CovarianceAttack` with known rows and "every-step", and the
        clipped canaries are orthogonal, of one length and the same at each step, as
        :func:`dirac_canary` makes them: no canary then changes another's score.  It holds together
        with `bound`, each with half of the error, and is that of ``method="rank-sum"`` of
        :func:`mialeak.auditing.audit`: at a confidence of 95 % a correct training is
        refuted by mu with probability 2.5 % (which its noise spends in full: give or take 0.5 for
        the fixed seed of :func:`mialeak.auditing.audit`), and by either with 5 % at most.
    accountant_epsilon : float or None
        The epsilon at delta that follows from the noise multiplier, sampling rate and steps of such
        an attack: what an accountant states, by :func:`mialeak.compose`; an upper bound where the
        steps are so few and their rate so small that only an enclosure is known.
    noise_multiplier : float or None
        The noise that the steps show, of such an attack.
    control : DPSGDAudit or None
        The audit of the control.
    kind : str
        "bound".

    Notes
    -----
    An attack that is a coin proves 0 of a training without any noise.  In six settings of real
    DP-SGD runs (no noise, clipping forgotten, a tenth of the noise; 36 runs in all) the attack
    without known rows proved 0 each time: only the control shows it.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.training import dp_sgd_audit
    >>> result = dp_sgd_audit(lambda member: member + np.arange(100) / 200, 100, rng=0)
    >>> result.member.size, f"{result.bound.epsilon_lower:.2f}"
    (100, '2.57')
    """

    bound: OneRunResult
    member: npt.NDArray[np.bool_] = field(repr=False)
    scores: FloatArray = field(repr=False)
    guesses: npt.NDArray[np.int64] = field(repr=False)
    verdict: Verdict
    statement: str = field(repr=False)
    mu_lower: float | None = None
    accountant_epsilon: float | None = None
    noise_multiplier: float | None = None
    control: DPSGDAudit | None = field(default=None, repr=False)
    kind: Kind = "bound"
    _attack: CovarianceAttack | None = field(default=None, repr=False, kw_only=True)

    _title = "What this audit of DP-SGD proves"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values (str, int, float, list, dict), ready for JSON."""
        content = replace(self, _attack=None)
        return {name: value for name, value in Result.to_dict(content).items() if name[0] != "_"}

    def document(self) -> Document:
        """The content of the report, without a layout."""
        audits = [self] if self.control is None else [self, self.control]
        columns = [_quantities(one) for one in audits]
        rows = [
            (*(column.get(name, "") for column in columns), name)
            for name in dict.fromkeys(name for column in columns for name in column)
        ]
        header = ("training", "control")[: len(audits)]
        notes = [_NO_CONTROL] if self.control is None else [_CONTROL]
        table = Table((*header, "quantity"), rows, left=1)
        page = self.bound.document()
        sections = [Section("The audit", [table, Notes(notes)])]
        return Document(self.statement, sections, page.cautions, page.compared, page.assumed)

    def panels(self) -> list[Panel]:
        """The epsilons that are proved, provable and claimed, and the scores of the canaries."""
        bound, control = self.bound, self.control
        bars = {
            "proved": bound.epsilon_lower,
            "proved of the control": None if control is None else control.bound.epsilon_lower,
            "provable": bound.provable_epsilon,
            "claimed": bound.claimed_epsilon,
        }
        finite = np.isfinite(self.scores)
        if not finite.any():
            return [bound_panel(bars)]
        edges = np.histogram_bin_edges(self.scores[finite], bins="auto").tolist()

        def draw(ax: Axes) -> None:
            for world, name, color in ((True, "in", "#D55E00"), (False, "out", "#0072B2")):
                shown = self.scores[finite & (self.member == world)]
                ax.hist(shown, edges, histtype="step", label=name, color=color)
            ax.set(xlabel="Score", ylabel="Canaries")
            ax.legend(loc="best")

        return [bound_panel(bars), Panel("Histograms of the canaries' scores, in and out.", draw)]

    def _table(self) -> dict[str, Any]:
        return {
            "canary": np.arange(self.member.size),
            "score": self.scores,
            "member": self.member.astype(np.int64),
            "guess": self.guesses,
        }


def _quantities(result: DPSGDAudit) -> dict[str, str]:
    """The numbers of an audit, by what they are."""
    bound, attack = result.bound, result._attack
    right, made = bound.correct, int(np.count_nonzero(result.guesses))
    content = {
        f"epsilon that is proved{f' at delta = {bound.delta:g}' if bound.delta else ''}": at_most(
            bound.epsilon_lower
        ),
        "epsilon that a perfect attack proves": at_least(bound.provable_epsilon),
    }
    if bound.claimed_epsilon is not None:
        content["epsilon that is claimed"] = f"{bound.claimed_epsilon:.4g}"
    if result.accountant_epsilon is not None:
        content["epsilon that an accountant states"] = f"{result.accountant_epsilon:.4g}"
    if result.mu_lower is not None:
        content["mu that is proved"] = at_most(result.mu_lower)
    stated = _stated_mu(result)
    if stated is not None:
        content["mu of the stated noise"] = f"{stated:.4g}"
    if attack is not None:
        content["steps"] = f"{attack.n_steps_seen_:,}"
    if attack is not None and attack.noise_multiplier > 0.0:
        content["noise multiplier that is stated"] = f"{attack.noise_multiplier:.4g}"
    if attack is not None and result.noise_multiplier is not None and attack.clip_norm is not None:
        content["noise multiplier that the steps show"] = f"{result.noise_multiplier:.3g}"
    content["confidence of a bound"] = f"{100.0 * bound.confidence:g}%"
    content["canaries"] = f"{bound.n_canaries:,}"
    content["of which were in"] = f"{int(result.member.sum()):,}"
    content["guesses"] = f"{made:,}"
    content["right guesses"] = f"{right:,}"
    return content


def _stated_mu(result: DPSGDAudit) -> float | None:
    """The mu of the stated noise, where a bound on mu stands beside it."""
    attack = result._attack
    if result.mu_lower is None or attack is None or attack.noise_multiplier == 0.0:
        return None
    return float(np.sqrt(attack.n_steps_seen_) / attack.noise_multiplier)


def judge(result: DPSGDAudit, control: DPSGDAudit | None) -> tuple[Verdict, str]:
    """The verdict, and the sentence that states it."""
    bound = result.bound
    claim, epsilon = bound.claimed_epsilon, bound.epsilon_lower
    shown = _shown_noise(result)
    if bound.verdict == "refuted":
        lead = f"The claimed epsilon {claim:.3g} is refuted: {at_most(epsilon)} is proved."
        return "refuted", " ".join([lead, *shown])
    stated, mu = _stated_mu(result), result.mu_lower
    if stated is not None and mu is not None and mu > stated:
        lead = (
            f"The stated noise is refuted: mu is at least {at_most(mu)}, and {stated:.3g} stated."
        )
        return "refuted", " ".join([lead, *shown])
    if claim is None and epsilon > 0.0:
        return "proved", " ".join([f"Epsilon is at least {at_most(epsilon)}.", *shown])
    sentences = []
    misread = _misread(result.scores)
    right, made = bound.correct, int(np.count_nonzero(result.guesses))
    is_turned = bool(bdtr(right, made, 0.5) <= _REVERSED)
    if control is not None:
        reached = control.bound.epsilon_lower
        is_caught = reached > (claim or 0.0) and epsilon < reached
        if is_caught and not misread and not is_turned:
            of_claim = "Nothing" if claim is None else f"The claimed epsilon {claim:.3g}"
            verb = "is proved" if claim is None else "is not refuted"
            lead = f"{of_claim} {verb}: {at_most(epsilon)} is proved, and {at_most(reached)} of the"
            hidden = _hidden(result, sampled=False)
            return "not refuted", " ".join([f"{lead} control.", *hidden, *shown])
        if not is_caught and not misread:
            sentences = [f"The control was not caught: {at_most(reached)} is proved of it."]
            theirs = [_misread(control.scores), *_hidden(control)]
            if any(theirs):
                sentences.append(f"Of the control: {' '.join(filter(None, theirs))}")
    asked = (
        "Nothing is proved" if claim is None else f"The claimed epsilon {claim:.3g} is not tested"
    )
    if misread:
        sentences = [f"{asked}. {misread}"]
    elif control is None:
        sentences = [
            f"{asked}. This result is no evidence without a control: the same audit of a training "
            "broken on purpose, without noise for instance, must prove more."
        ]
    else:
        sentences.insert(0, f"{asked}.")
    if epsilon > 0.0:
        sentences.append(f"Proved is an epsilon of {at_most(epsilon)}.")
    if is_turned:
        sentences.append(
            f"The scores point the other way: {right} of {made} guesses are right. A score has to "
            "be larger for a member."
        )
    if claim is not None and bound.verdict == "not testable":
        most = bound.provable_epsilon
        sentences.append(
            f"With so many canaries even a perfect attack proves at most {at_least(most)}."
        )
    hidden = _hidden(result, sampled=control is None)
    return "untested", " ".join([*sentences, *hidden, *shown])


def _misread(scores: FloatArray) -> str:
    """What is wrong with scores that cannot be those of canaries in the order of the coins.

    Coins that have a part in the scores sort them with the probability of a random order.
    """
    counts = np.unique(scores, return_counts=True)[1]
    if counts.size == 1:
        return "All scores are equal: no coin has a part in them."
    rises, falls = (scores[1:] >= scores[:-1]).all(), (scores[1:] <= scores[:-1]).all()
    chance = np.log(2.0) + gammaln(counts + 1.0).sum() - gammaln(scores.size + 1.0)
    if chance > np.log(_CHANCE) or not (rises or falls):
        return ""
    return (
        "The scores are sorted, and no longer in the order of the canaries. Return the score of "
        "each canary in the order of member."
    )


def _hidden(result: DPSGDAudit, *, sampled: bool = True) -> list[str]:
    """What the gradients of the canaries allow, where it is little or less than that of one.

    Of Poisson batches, where noise and hiding look alike, with `sampled` only.
    """
    if result._attack is None or result._attack._run is None:
        return []
    together, alone = result._attack._run.areas()
    cure = "Take others: of random inputs, or orthogonal ones."
    lead = "by their gradients and this noise the area under the curve of the best attack is"
    if alone is None:
        is_weak = sampled and together <= _STRONG
        return [f"For these canaries, {lead} about {together:.2f}. {cure}"] if is_weak else []
    if alone - together < _HIDDEN:
        return []
    return [
        f"The canaries hide one another: {lead} {together:.2f}, and {alone:.2f} if one were alone. "
        f"{cure}"
    ]


def _shown_noise(result: DPSGDAudit) -> list[str]:
    """What the steps show of noise and clipping, where it is less than stated."""
    attack, seen = result._attack, result.noise_multiplier
    if attack is None or seen is None or attack.clip_norm is None:
        return []
    sentences = []
    stated = attack.noise_multiplier
    if seen < _LESS * stated:
        sentences.append(f"The steps show a noise multiplier of {seen:.3g}; {stated:g} is stated.")
    elif seen > _MORE * stated > 0.0:
        sentences.append(
            f"The steps show a noise multiplier of {seen:.3g}, more than the stated {stated:g}: "
            "the known rows, the batch size or the sampling rate may not be those of the training."
        )
    if not attack.clipped_:
        sentences.append("The steps are more likely with gradients that were not clipped.")
    return sentences
