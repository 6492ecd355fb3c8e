"""Audits that may stop at any moment: a bound that holds after every canary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from scipy.special import bdtr, log_expit

from mialeak._arrays import FloatArray, as_floats, as_scores, invalid, require, unsupported
from mialeak._checks.audits.beside import cautions_of_index
from mialeak._report.document import Document
from mialeak._report.report import Panel, Report, bound_panel
from mialeak._results import Kind, as_confidence
from mialeak._warnings import warn
from mialeak.auditing._checks import as_delta, refuse_axes, refuse_other_order
from mialeak.auditing._documents import OF_CANARIES, stream_document

if TYPE_CHECKING:
    from mialeak.auditing._one_run import OneRunResult

__all__ = ["AuditStream"]

#: Bets: by how much the log odds of a right guess exceed epsilon.
_BETS = np.array([0.15, 0.3, 0.6, 1.2, 2.4, 5.0])
#: Guesses are made of scores this far from the middle of all scores so far, in ranks.
_FAR = np.array([0.0, 0.5, 0.75, 0.875, 0.9375])
#: Prior weights of guesses of both worlds, of members and of others; and of `_FAR`.  Chosen on
#: Gaussian scores of mu = 1 to 4 and 200 to 1,000 canaries; any weights are valid.
_SIDES, _PLACES = np.array([0.6, 0.2, 0.2]), np.array([0.4, 0.2, 0.2, 0.1, 0.1])
_PRIOR = np.log(_SIDES[:, None, None] * _PLACES[:, None] / _BETS.size)
#: Bounds are multiples of one over this.
_STEPS = 100
#: Canaries taken in at once, and scores that wait to be sorted among the others.
_BLOCK = 1024
#: Logarithm of a wealth that is enough.
_OVERFLOW = 700.0
#: Coins are refused that fair ones give with this probability at most, at any one moment.
_CHANCE = 1e-9
#: So many flags in turn stand once only: of 1.5 million fair coins with probability 1 - 1e-9.
_WINDOW = 64
#: An update has the canaries of the one before again if it begins with its scores and flags, and
#: so many of these scores are different and have many digits.
_AGAIN = 3


class AuditStream(Report):
    """Lower bound on epsilon from canaries that arrive one after the other.

    ``print(stream)`` writes it out for people; a notebook shows it, :meth:`plot` draws the bound,
    :meth:`to_html` writes a page, :meth:`to_frame` has the numbers in one row.

    Parameters
    ----------
    delta : float, default 0.0
        0: no proof is known for more.
    confidence : float
        Probability, at least 0.5 and below 1, with which the bound holds at *all* moments together.

    Attributes
    ----------
    epsilon_lower : float
        What is proved so far.  It never falls.
    n_canaries : int
        Canaries so far.
    n_proved : int
        Canaries after which the bound was last raised.
    provable_epsilon : float
        The bound if each guess were right, and made at the largest distance: no attack on so many
        canaries proves more.

    Raises
    ------
    ValueError
        If confidence is out of range, or delta is above 0.

    Warns
    -----
    UserWarning
        Once, if more guesses are wrong than those of scores that know nothing: their sign may have
        been forgotten (a loss is smaller for members; pass minus the loss).

    See Also
    --------
    one_run_audit : for a number of canaries that is fixed beforehand.

    Notes
    -----
    Whatever came before, a guess about a fair coin that was made from outputs of an
    epsilon-private training is right with probability ``q = e^epsilon / (1 + e^epsilon)`` at most.
    For w >= q the product over guesses of ``w/q`` where right and ``(1 - w)/(1 - q)`` where wrong
    is a supermartingale, and so is a mixture of such products; by Ville's inequality it reaches
    ``1/(1 - confidence)`` at any moment with probability ``1 - confidence`` at most.  An audit may
    therefore look after each canary, and stop when it likes.

    The guess for a canary is *in* where its score is above the median of all scores so far, and the
    mixture has bets of six sizes on scores that are far from it: in five degrees, and of one world
    or both.  Canaries of one :meth:`update` are taken in the order of that distance, so that the
    number of guesses need not be chosen.

    Epsilon is of adding or removing a row, with delta = 0.  Scores may depend on the coins of
    earlier canaries, on all outputs, and on no coin of the present update.

    **Power.**  1,000 canaries in one update, Gaussian scores of mu = 1, 2 and 4, median bound of
    11: 1.61, 3.48 and 5.03; one by one, of 5: 1.31, 2.90 and 4.33.  Of 20 by :func:`one_run_audit`:
    1.54, 3.27 and 4.68.

    **Cost.**  0.1 ms an update of one canary, with 100,000 before it too.

    Examples
    --------
    >>> import numpy as np
    >>> from mialeak.auditing import AuditStream
    >>> rng, stream = np.random.default_rng(0), AuditStream()
    >>> while stream.epsilon_lower <= 1.0:  # stop when the claim is refuted
    ...     member = rng.random(20) < 0.5
    ...     bound = stream.update(rng.normal(3.0 * member), member)
    >>> stream
    AuditStream(epsilon_lower=1.14, n_canaries=40)
    """

    kind: Kind = "bound"

    _title = "What these canaries prove"

    def __init__(self, *, delta: Any = 0.0, confidence: Any = 0.95):
        self.confidence, self.delta = as_confidence(confidence), as_delta(delta)
        if self.delta > 0.0:
            why = "no proof is known that holds at all moments"
            remedy = "Pass the scores of a fixed number of canaries to one_run_audit"
            unsupported("AuditStream", f"with delta = {self.delta:g}", why, remedy)
        self._wanted = -np.log1p(-self.confidence)
        self._steps, self.n_canaries, self.n_proved = -1, 0, 0
        self._members = self._changes = 0
        #: The last flag and score, and whether the scores so far rise, or fall.
        self._last: tuple[float, float] | None = None
        self._rises = self._falls = True
        self._is_reversed = False
        self._coins = _Coins()
        #: Scores and flags of the last update, while each begins as the one before it.
        self._before: list[tuple[float, float]] | None = []
        #: Scores so far, in ascending order: most, and the last ones.
        self._seen = self._recent = np.empty(0)
        #: Right and wrong guesses, by side and distance.
        self._right = np.zeros((3, _FAR.size))
        self._wrong = np.zeros((3, _FAR.size))

    def __repr__(self) -> str:
        bound = f"epsilon_lower={self.epsilon_lower:g}"
        return f"AuditStream({bound}, n_canaries={self.n_canaries})"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "epsilon_lower": self.epsilon_lower,
            "n_canaries": self.n_canaries,
            "n_proved": self.n_proved,
            "confidence": self.confidence,
            "kind": self.kind,
            "assumed": list(OF_CANARIES),
        }

    def document(self, *, run: OneRunResult | None = None) -> Document:
        """The content of the report, without a layout.

        Parameters
        ----------
        run : OneRunResult, optional
            The same canaries, read from files, by :func:`one_run_audit`: a note is added where
            more of their guesses are wrong than right.
        """
        return stream_document(self, run)

    def panels(self) -> list[Panel]:
        """The epsilon that is proved."""
        return [bound_panel({"proved": self.epsilon_lower})]

    def _table(self) -> dict[str, Any]:
        numbers = self.to_dict()
        del numbers["assumed"]
        return {name: [value] for name, value in numbers.items()}

    @property
    def epsilon_lower(self) -> float:
        """What is proved so far."""
        return max(self._steps, 0) / _STEPS

    @property
    def provable_epsilon(self) -> float:
        """What no attack on so many canaries exceeds."""
        sides = np.array([self.n_canaries, self._members, self.n_canaries - self._members])
        right = np.broadcast_to(sides[:, None, None], (3, 1, _FAR.size)).astype(np.float64)
        steps, wrong = self._steps, np.zeros_like(right)
        while self._reached((steps + 1) / _STEPS, right, wrong) is not None:
            steps += 1
        return max(steps, 0) / _STEPS

    def update(self, scores: Any, member: Any) -> float:
        """Take in canaries, and report what is proved.

        Parameters
        ----------
        scores : array_like, shape () or (m,)
            One score for each new canary; larger speaks for *in*.
        member : array_like, shape () or (m,)
            1 (or True) for canaries that were in, 0 for those left out.

        Returns
        -------
        float
            ``epsilon_lower``.

        Raises
        ------
        ValueError
            For shapes that differ, NaN, flags other than 0 and 1, scores that are the flags, or
            coins so far that are not fair: by the number of members, as members and others stand
            together or alternate, or as their flags repeat earlier ones.  A canary counts once: of
            a new score of the same canary, as after each epoch, the coin has been used already.
            Also for an update of all canaries so far, which begins as the one before did.
        """
        values, flags = self._checked(scores, member)
        for start in range(0, values.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            self._take(values[part], flags[part])
        right, wrong = int(self._right[0, 0]), int(self._wrong[0, 0])
        if not self._is_reversed and bdtr(right, right + wrong, 0.5) <= _CHANCE:
            self._is_reversed = True
            warn(
                f"{wrong} of {right + wrong} guesses are wrong: the scores seem to be "
                "smaller for members, as losses are. Pass them with the other sign to a new stream",
            )
        return self.epsilon_lower

    def _checked(self, scores: Any, member: Any) -> tuple[FloatArray, FloatArray]:
        refuse_other_order(scores, member, "member")
        values = np.atleast_1d(as_floats(scores, "scores"))
        flags = np.atleast_1d(as_floats(member, "member"))
        if values.ndim > 1:
            refuse_axes(values.shape, "scores")
        if flags.shape != values.shape:
            rule = "have one flag for each score"
            invalid("member", f"{rule}; the shapes are {flags.shape} and {values.shape}")
        if not values.size:
            return values, flags
        values = as_scores(values, "scores")
        require((flags == 0.0) | (flags == 1.0), flags, "member", "hold 0 and 1 only")
        if flags.size > 1 and flags.min() < flags.max() and np.array_equal(values, flags):
            remedy = "Write the guesses of an attack as -1 and 1"
            invalid("scores", "be scores of an attack; they are the flags of member", remedy=remedy)
        for caution in cautions_of_index(scores, member, flags):
            warn(caution)
        members, size = self._members + int(flags.sum()), self.n_canaries + flags.size
        if 2.0 * float(bdtr(min(members, size - members), size, 0.5)) <= _CHANCE:
            rule = f"come of fair coins; {members} of {size} so far are members"
            remedy = (
                "The bound holds only if each canary was put in with probability 1/2. If coins "
                "did, pass scores and flags in their order"
            )
            invalid("member", rule, remedy=remedy)
        grown = self._grown(list(zip(values.tolist(), flags.tolist(), strict=True)))
        self._require_mixed(values, flags)
        self._before = grown
        return values, flags

    def _grown(self, pairs: list[tuple[float, float]]) -> list[tuple[float, float]] | None:
        """The update, if each one so far begins as the one before it; refuse it if not by chance.

        Scores of more than five digits, several of which are different, do not repeat by chance.
        """
        before = self._before
        if before is None or pairs[: len(before)] != before:
            return None
        if len({score for score, _ in before if score != float(f"{score:.5g}")}) >= _AGAIN:
            rule = (
                f"be those of new canaries; the first {len(before)} and their flags are those of "
                "the update before"
            )
            remedy = "A canary counts once: pass scores[k:] and member[k:], k = n_canaries so far"
            invalid("scores", rule, remedy=remedy)
        return pairs

    def _require_mixed(self, values: FloatArray, flags: FloatArray) -> None:
        """Refuse flags that stand in too small or too large a number of runs.

        If the scores so far are sorted, members of a strong attack stand together.  Those of a
        perfect one are as flags that were sorted by themselves, and are refused.
        """
        before = [] if self._last is None else [self._last]
        flags = np.concatenate([[flag for flag, _ in before], flags])
        values = np.concatenate([[score for _, score in before], values])
        rises = self._rises and bool((values[1:] >= values[:-1]).all())
        falls = self._falls and bool((values[1:] <= values[:-1]).all())
        changes = self._changes + int(np.count_nonzero(np.diff(flags)))
        size = self.n_canaries + flags.size - len(before) - 1
        rare = min(changes, size - changes)
        is_sorted = (rises or falls) and changes == rare
        if changes == 1 and np.log(2.0 * size) - (size + 1) * np.log(2.0) <= np.log(_CHANCE):
            rule = (
                "come of fair coins; all members stand before all others, or after them, as where "
                "two files are joined, or flags are sorted by themselves"
            )
            invalid("member", rule, remedy="Pass scores and flags in the order of the coins")
        if not is_sorted and 2.0 * float(bdtr(rare, size, 0.5)) <= _CHANCE:
            how = "stand together" if changes == rare else "alternate"
            rule = (
                f"come of fair coins; members and others {how}: {changes} of {size} neighbours "
                "differ"
            )
            remedy = (
                "A coin must have put each canary in: members and others of two files, or several "
                "scores of one canary, are no coins. Pass one score a canary, in the order of coins"
            )
            invalid("member", rule, remedy=remedy)
        self._coins.add(flags[len(before) :], is_sorted=is_sorted)
        self._rises, self._falls, self._changes = rises, falls, changes
        self._last = (float(flags[-1]), float(values[-1]))

    def _take(self, values: FloatArray, flags: FloatArray) -> None:
        """Guess, count, and raise the bound as far as a moment of this update allows."""
        self._recent = np.sort(np.concatenate([self._recent, values]))
        twice = np.zeros(values.size)
        for table in (self._seen, self._recent):
            twice += np.searchsorted(table, values, "left")
            twice += np.searchsorted(table, values, "right")
        ranks = twice / (self._seen.size + self._recent.size) - 1.0
        if self._recent.size > _BLOCK:
            self._seen = np.sort(np.concatenate([self._seen, self._recent]), kind="stable")
            self._recent = np.empty(0)
        order = np.argsort(-np.abs(ranks), kind="stable")
        ranks, flags = ranks[order], flags[order]
        is_in = ranks > 0.0
        sides = np.stack([np.ones_like(is_in), is_in, ~is_in]) & (ranks != 0.0)
        bets = sides[:, :, None] & (np.abs(ranks)[:, None] >= _FAR)
        is_right = (is_in == (flags == 1.0))[:, None]
        right = self._right[:, None] + np.cumsum(bets & is_right, axis=1)
        wrong = self._wrong[:, None] + np.cumsum(bets & ~is_right, axis=1)
        self._members += int(flags.sum())
        before, self.n_canaries = self._steps, self.n_canaries + flags.size
        moment: int | None = 0
        while moment is not None:
            here = slice(moment, moment + 1)  # what was reached at a moment often is again there
            epsilon = (self._steps + 1) / _STEPS
            if self._reached(epsilon, right[:, here], wrong[:, here]) is None:
                moment = self._reached(epsilon, right, wrong)
            self._steps += moment is not None
        if self._steps > before:
            self.n_proved = self.n_canaries
        self._right, self._wrong = right[:, -1], wrong[:, -1]

    def _reached(self, epsilon: float, right: FloatArray, wrong: FloatArray) -> int | None:
        """The moment of the update at which the wealth against this epsilon reached its level."""
        gain = log_expit(epsilon + _BETS) - log_expit(epsilon)
        loss = log_expit(-epsilon - _BETS) - log_expit(-epsilon)
        wealth = _PRIOR[:, None] + right[..., None] * gain + wrong[..., None] * loss
        shares = np.exp(np.minimum(wealth - self._wanted, _OVERFLOW)).sum(axis=(0, 2, 3))
        place = int(np.argmax(shares))
        return place if shares[place] >= 1.0 else None


class _Coins:
    """The flags so far, by windows of them: that of every 64th place, and the last one."""

    def __init__(self) -> None:
        self._windows: set[int] = set()
        self._window, self._size = 0, 0
        #: The flags of the last update, how many updates there were, and how many flags of the
        #: last ones in turn are those of the update before.
        self._before: tuple[int, ...] = ()
        self._updates, self._repeated = 0, 0

    def add(self, flags: FloatArray, *, is_sorted: bool) -> None:
        """Take in flags; refuse those that repeat earlier ones, unless scores so far are sorted."""
        coins = tuple(flags.astype(np.int64).tolist())
        repeated = self._repeated + len(coins) if coins == self._before else 0
        if not is_sorted and np.log1p(self._updates) - repeated * np.log(2.0) <= np.log(_CHANCE):
            self._refuse(repeated)
        window, size, new = self._window, self._size, set()
        for coin in coins:
            window, size = (window << 1 | coin) & ((1 << _WINDOW) - 1), size + 1
            if size < _WINDOW:
                continue
            if not is_sorted and (window in self._windows or window in new):
                self._refuse(_WINDOW)
            if size % _WINDOW == 0:
                new.add(window)
        self._windows |= new
        self._window, self._size, self._before = window, size, coins
        self._updates, self._repeated = self._updates + 1, repeated

    @staticmethod
    def _refuse(repeated: int) -> NoReturn:
        rule = (
            f"come of coins of their own; {repeated} flags in turn are those of earlier canaries, "
            "as where the same canaries are scored after each epoch"
        )
        remedy = (
            "A coin proves something once: pass one score a canary, such as that after the last "
            "epoch, or draw other canaries for each update"
        )
        invalid("member", rule, remedy=remedy)
