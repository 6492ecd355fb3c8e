"""Several outputs of the same people, added one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mialeak._arrays import as_choice, as_count, invalid, unsupported
from mialeak._blocks import progress_bar
from mialeak._columns import choose_columns, near
from mialeak._labels import require_same_index
from mialeak.estimators import InfluenceFunctions, influence_of
from mialeak.mechanisms import CellMechanism
from mialeak.releases._acro import acro_outputs, read_acro
from mialeak.releases._analysis import Analysis, codes_of, joined
from mialeak.releases._estimates import warn_of_other_rows
from mialeak.releases._outputs import (
    Output,
    as_protection,
    is_share,
    mean_output,
    share_output,
    table_output,
)
from mialeak.releases._people import People, Where
from mialeak.releases._plan import Plan, read_plan
from mialeak.releases._published import published_outputs
from mialeak.releases._report import OutputCost, ReleaseReport, cost_between, report_of

__all__ = ["Release"]

IntArray = npt.NDArray[np.int64]


class Release:
    """Several outputs of the same people: what they leak together.

    Two harmless tables of the same people may subtract to one person.  Outputs are added one by
    one; :meth:`leakage` reports the groups whose counts follow from all of them, with the
    combination that gives each, and what all outputs together leak about each person.

    Parameters
    ----------
    people : table
        The people that all outputs are made of, one row each: a pandas, polars or pyarrow table,
        whatever narwhals takes, or a dict of columns.
    population : table or "independent", optional
        The register that the people were sampled from, without replacement: a table with the same
        columns, one row a person.  By default the population is the one that the people are a
        sample of, which is known by them only.
        "independent": a population that has the people's frequencies in each table, and whose
        columns are independent given those that tables share; for tables whose columns make a tree
        ("decomposable" margins) of all people, for which the leakage of every row is then exact.
    na : {"error", "category"}
        Whether a missing value is refused or counted as a value of its own.
    missing : value or sequence, optional
        Values that mark a missing one too, such as ``["?", -9]``.

    Raises
    ------
    TypeError
        If `people` is no table.
    ValueError
        If there are no people, or not more people in the register.

    See Also
    --------
    mialeak.tables.table_leakage : one table of counts.

    Notes
    -----
    All tables are sums of the counts of the finest table, whose cells hold the people who are
    alike in every output.  The outputs leak at most what these counts leak, and at least what any
    count leaks that is published or follows from published ones; both are exact leakages of one
    count [AGP25]_.  They agree for a cell that is *determined*, whose count is a combination of
    the published numbers: the leakage is then exact.  It is exact, too, for so few people and
    cells that all populations can be gone through, and for tables whose columns make a tree, if
    the columns are independent given those that tables share: the likelihood ratio is the product
    of the counts of the target's cells in the tables over those in the shared columns.  Between
    the two ends stands the limit for many people in every cell, that of a released mean [AB25]_.

    Which cells are determined is decided modulo a prime and proved in exact integers.  The number
    of people is taken to be known.  Cells that nobody of the population has are known to be empty;
    ``Determined.by_design`` states whether a combination needs that.

    Without a register the report has two answers, as that on a table has.  ``population`` leads:
    ranges for the population that the people came from, each row's from Clopper and Pearson's
    interval of the rarest count that holds it (lower end) and of its cell (upper end), and that of
    the average from :func:`mialeak.estimate_max_leakage`.  ``plug_in`` takes the people's own
    frequencies for the population, which is right for a census only.

    The order in which outputs are published does not matter: the attacker has all of them.

    **Cost**: 20 tables of 12 columns over 100,000 people: 2.1 s of a core for the report of 1,700
    counts and 0.9 s for one more table, 4.4 and 1.5 s of 3,000 counts; 0.6 GB.  An attack on the
    margins of five columns: 5 to 15 ms a cell.

    References
    ----------
    .. [AB25] A. Azize, D. Basu, "Some Targets Are Harder to Identify than Others: Quantifying the
       Target-dependent Membership Leakage", AISTATS, 2025.
    .. [AGP25] E. Aubinais, E. Gassiat, P. Piantanida, "Fundamental Limits of Membership Inference
       Attacks on Machine Learning Models", JMLR, 2025.

    Examples
    --------
    Two tables of the same people, of which the second leaves out who is over 80:

    >>> from mialeak import Release
    >>> people = {"city": ["Oslo"] * 40 + ["Bergen"] * 30, "age": [30, 50] * 34 + [30, 90]}
    >>> release = Release(people)
    >>> release.add_table(["city"])
    >>> release.add_table(["city"], where={"age": {"max": 80}})
    >>> report = release.leakage()
    >>> for group in report.determined:
    ...     print(f"{group.group}: {group.people} = {group.explanation}")
    city = Bergen, age > 80: 1 = table 1 (city = Bergen) minus table 2 (city = Bergen, age <= 80)
    """

    def __init__(
        self, people: Any, population: Any = None, *, na: str = "error", missing: Any = ()
    ) -> None:
        if na == "drop":
            rule = 'be "error" or "category": outputs drop other people, each by its own columns'
            remedy = 'With na = "category" a condition in where leaves out those without a value'
            invalid("na", rule, value=na, remedy=remedy)
        self._na = as_choice(na, "na", ("error", "category"))
        self._people = People(people, population, na=self._na, missing=missing)
        if self._people.in_register and self._people.sizes[1] <= self._people.rows:
            rule = f"hold more people than the release ({self._people.rows:,})"
            invalid("population", rule, value=self._people.sizes[1])
        self._names = self._people.names
        self._outputs: list[Output] = []
        self._plan: Plan | None = None
        self._unread: list[str] = []
        self._key: IntArray = np.zeros(sum(self._people.sizes), np.int64)
        self._analysis: Analysis | None = None
        self._reports: dict[tuple[int, float, int], ReleaseReport] = {}

    @classmethod
    def from_plan(cls, path: Any) -> Release:
        """The release that a plan file describes, with its outputs.

        Parameters
        ----------
        path : str or Path
            A TOML file with ``schema = "mialeak.release-plan/1"``; see the guide.

        Raises
        ------
        ValueError
            If the plan has an unknown key (the near ones are named), names a file outside its
            folder, or an output is refused; the message then names the output.
        """
        plan = read_plan(path)
        release = cls(plan.people, plan.population, na=plan.na)
        release._plan = plan
        for number, output in enumerate(plan.outputs, 1):
            methods: dict[str, Callable[..., None]] = {
                "table": release.add_table,
                "mean": release.add_mean,
                "acro": release.add_acro,
            }
            try:
                methods[output.kind](output.columns, **output.arguments)
            except (ValueError, TypeError) as error:
                words = str(error).replace("Pass na='category'", 'Write na = "category" in it')
                raise type(error)(f"output {number} of {plan.path.name}: {words}") from error
        return release

    @property
    def plan(self) -> Plan | None:
        """The plan that the release was read from: its limits, threshold and files."""
        return self._plan

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs added so far, in words."""
        return tuple(output.words(self._people) for output in self._outputs)

    def add_table(
        self, columns: Any, *, where: Any = None, protect: Any = None, published: Any = None
    ) -> None:
        """Add the counts of the people by the joint values of `columns`.

        Parameters
        ----------
        columns : sequence of str
        where : mapping, optional
            The sub-population that is counted: for each column that limits it a value, a list of
            values, or a mapping with ``min``, ``max`` (both included) or ``not``.
        protect : CellMechanism, optional
            A protection of each count by itself, such as ``Round(5)`` or ``Suppress(10)``.
        published : table, optional
            The table as it was published: `columns` and one column of counts, in which a hidden
            count is missing, or a mark such as ``"<5"`` or ``"1-4"``, which limits it.  If no other
            counts than those below the number of the marks have one, this is the protection
            ``Suppress``.  Where the table shows zeros, and hides none, no hidden count is 0.  Rows
            of totals, such as "Total" or "All", are outputs of their own where they are not the
            sums of the counts that are shown.  Counts are compared with those of the people.

        Raises
        ------
        ValueError
            If a column does not exist (the near ones are named), `where` selects nobody or names a
            value that does not occur, or `published` differs from the people.
        """
        if published is None:
            self._add(self._table(columns, where, protect))
            return
        limits, protection = self._limits(where, protect)
        chosen, before = self._chosen(columns), len(self._outputs)
        options = (chosen, limits, protection, published)
        for output in published_outputs(self._people, before, *options):
            self._add(output)

    def add_mean(self, columns: Any, *, where: Any = None) -> None:
        """Add the mean of each of `columns` over the people of `where`, and how many they are.

        The mean of a column of two values, such as 0 and 1, is a share: with the number of people
        it gives the counts of both values, and it is an output of its own, of these counts.

        Parameters
        ----------
        columns : sequence of str
            Columns of numbers, or of True and False.
        where : mapping, optional
            As for :meth:`add_table`.

        Raises
        ------
        ValueError, TypeError
            As for :meth:`add_table`, and if a column holds other values than numbers.
        """
        weights, shares = {}, []
        where = Where.of(self._people, where)
        for name in self._chosen(columns):
            column = self._people.column(name)
            values = column.averaged()
            if values is None:
                rule = "hold numbers, to be averaged"
                invalid(f"column {name!r}", rule, error=TypeError)
            averaged = np.where(where.rows, values[column.codes], 0.0)
            if not np.isfinite(averaged).all():
                rule = "have no missing or infinite values, to be averaged"
                low = float(np.min(values, where=np.isfinite(values), initial=np.inf))
                remedy = "Leave the column out"
                if low < np.inf and not np.isinf(values).any():
                    only = f"where={{{name!r}: {{'min': {int(low) if low.is_integer() else low}}}}}"
                    remedy = f"If the mean is of those with a value, limit it to them: {only}"
                invalid(f"column {name!r}", rule, remedy=remedy)
            if is_share(self._people, name, where):
                shares.append(name)
            else:
                weights[str(name)] = averaged
        number = len(self._outputs) + 1
        if weights:
            self._add(mean_output(self._people, number, "mean", where, weights))
        for number, name in enumerate(shares, len(self._outputs) + 1):
            self._add(share_output(self._people, number, name, where))

    def add_acro(
        self, results: Any, *, outputs: Any = None, where: Any = None, protect: Any = None
    ) -> None:
        """Add the tables of counts in the results of ACRO, as it published them.

        Each is compared with the people, and its hidden counts are checked as those of
        ``add_table(..., published=...)`` are.  Totals ("All") count as outputs where they are not
        the sums of the counts that are shown.  Outputs that are no tables of counts (means,
        regressions, plots) are not read; the report names them.

        Parameters
        ----------
        results : str or Path
            The ``results.json`` that ACRO's ``finalise`` writes from version 0.4 on, or its folder.
        outputs : sequence of str, optional
            Names of the outputs to be read; by default all.
        where : mapping, optional
            The sub-population that they were made of, as for :meth:`add_table`.
        protect : CellMechanism, optional
            The rule of ACRO that its readers know, such as ``Suppress(10)``.

        Raises
        ------
        ValueError
            If the file is none of ACRO, has no such output, no column of the people or several have
            the values of a table, or a table differs from the people.
        """
        tables, others = read_acro(results, self._names)
        known = [*(each.name for each in tables), *others]
        protection = as_protection(protect, self._people.in_register)
        chosen = known if outputs is None else list(outputs)
        for name in chosen:
            if name not in known:
                remedy = near(name, known).replace("The table has", "There are")
                invalid("outputs", "be outputs of the results", value=name, remedy=remedy)
        added: list[Output] = []
        for each in tables:
            if each.name in chosen:
                try:
                    number = len(self._outputs) + len(added)
                    added += acro_outputs(self._people, each, where, protection, number)
                except (ValueError, TypeError) as error:
                    raise type(error)(f"{each.name} of ACRO: {error}") from error
        for output in added:
            self._add(output)
        self._unread += [f"{name} ({kind})" for name, kind in others.items() if name in chosen]
        self._reports.clear()

    def add_estimate(self, fitted: Any, X: Any = None, y: Any = None) -> None:
        """Add an estimate that was fitted to all people, by its influence functions.

        Its part in the leakage is that of the mean of its influence functions: asymptotic.

        Parameters
        ----------
        fitted : InfluenceFunctions or fitted regression
            As :func:`mialeak.estimators.influence_of` takes it, its rows in the order of the
            people: the indices of pandas tables are compared.
        X, y : array_like, optional
            The rows it was fitted to, where `fitted` does not hold them.

        Warns
        -----
        UserWarning
            If columns of the rows have the people's values in another order, or are unrelated to
            those of the same name.

        Raises
        ------
        ValueError
            If there is a register, or the estimate has another number of rows, or the index of the
            people in another order.
        """
        if self._people.in_register:
            why = "the influence of the people outside the sample is not known"
            unsupported("add_estimate", "with population", why, "Leave population out")
        tables = [X, y] if X is not None else [fitted]
        if not isinstance(fitted, InfluenceFunctions):
            fitted = influence_of(fitted, X, y)
        if hasattr(frame := self._people.frame, "iloc") and fitted.row_names is not None:
            named = {"people": frame.index, "the table of the estimate": fitted.row_names}
            require_same_index(named, argument="fitted")
        if fitted.centred is not None:  # what it leaks is the same
            fitted = fitted.centred[1]
        influence = np.atleast_2d(np.asarray(fitted.influence, np.float64).T).T
        if len(influence) != self._people.rows:
            rule = f"have one row for each of the {self._people.rows:,} people"
            invalid("fitted", rule, value=len(influence))
        warn_of_other_rows(self._people, *tables, influence)
        weights = {f"influence {j}": influence[:, j] for j in range(influence.shape[1])}
        where = Where.of(self._people, None)
        number = len(self._outputs) + 1
        self._add(mean_output(self._people, number, "estimate", where, weights))

    def leakage(
        self,
        *,
        threshold: int = 10,
        confidence: float = 0.95,
        attacks: int = 0,
        progress: bool = False,
    ) -> ReleaseReport:
        """What all outputs leak together, and what follows from them.

        Parameters
        ----------
        threshold : int
            Groups of fewer people are reported if their count follows from the outputs.
        confidence : float
            Nominal coverage of the ranges of ``ReleaseReport.population``, without a register.
        attacks : int
            Cells of people, those at most risk first, whose lower end by ``plug_in`` is raised by
            an attack on all published counts, whose advantage is computed: 2 to 50 ms a cell.
        progress : bool
            Show a progress bar (by tqdm, the extra ``progress``).

        Returns
        -------
        ReleaseReport

        Raises
        ------
        ValueError
            If there is no output, or the people are no sample of the register.
        """
        threshold = as_count(threshold, "threshold", least=2)
        attacks = as_count(attacks, "attacks")
        if not self._outputs:
            remedy = (
                "Write one below a line [[outputs]]; of the results of ACRO, tables of counts are "
                "read, and none of means, shares or models"
                if self._plan
                else "Call add_table first"
            )
            invalid("outputs", "hold at least one", remedy=remedy)
        return self._report(self._outputs, self._key, threshold, confidence, attacks, progress)

    def cost_of(
        self, columns: Any, *, where: Any = None, protect: Any = None, threshold: int = 10
    ) -> OutputCost:
        """What one more table would add to the outputs; it is not added.

        Parameters
        ----------
        columns, where, protect
            As for :meth:`add_table`.
        threshold : int
            As for :meth:`leakage`.

        Returns
        -------
        OutputCost
        """
        threshold = as_count(threshold, "threshold", least=2)
        output = self._table(columns, where, protect)
        before = self._report(self._outputs, self._key, threshold) if self._outputs else None
        outputs = [*self._outputs, output]
        after = self._report(outputs, _with(self._key, output), threshold)
        return cost_between(output.words(self._people), before, after)

    def contributions(self, *, threshold: int = 10) -> tuple[OutputCost, ...]:
        """What each output adds to the others, in their order: each is left out once.

        Parameters
        ----------
        threshold : int
            As for :meth:`leakage`.
        """
        threshold = as_count(threshold, "threshold", least=2)
        together = self.leakage(threshold=threshold)
        costs = []
        for place, output in enumerate(self._outputs):
            others = [*self._outputs[:place], *self._outputs[place + 1 :]]
            key = np.zeros_like(self._key)
            for each in others:
                key = _with(key, each)
            without = self._report(others, key, threshold) if others else None
            costs.append(cost_between(output.words(self._people), without, together))
        return tuple(costs)

    # --- parts ---

    def _chosen(self, columns: Any) -> list[Any]:
        return choose_columns(self._names, columns, table="people")

    def _limits(self, where: Any, protect: Any) -> tuple[Where, CellMechanism | None]:
        protection = as_protection(protect, self._people.in_register)
        return Where.of(self._people, where), protection

    def _table(self, columns: Any, where: Any, protect: Any) -> Output:
        chosen = self._chosen(columns)
        limits, protection = self._limits(where, protect)
        number = len(self._outputs) + 1
        return table_output(self._people, number, chosen, limits, protection)

    def _add(self, output: Output) -> None:
        self._outputs.append(output)
        self._reports.clear()
        self._key = _with(self._key, output)

    def _report(
        self,
        outputs: Sequence[Output],
        key: IntArray,
        threshold: int,
        confidence: float = 0.95,
        attacks: int = 0,
        progress: bool = False,
    ) -> ReleaseReport:
        """The report of some outputs; the analysis of all of them is kept for what is added."""
        name = (threshold, confidence, attacks)
        if outputs is self._outputs and name in self._reports:
            return self._reports[name]
        with progress_bar(progress, 2, "step") as done:
            analysis = self._analysis
            if analysis is None or analysis.outputs != tuple(outputs):
                analysis = Analysis(self._people, outputs, key, analysis)
            done(1)
            report = report_of(analysis, threshold, confidence, attacks, self._unread)
            done(1)
        if outputs is self._outputs:
            self._analysis = analysis
            self._reports[name] = report
        return report

    def __repr__(self) -> str:
        several = "s" * (len(self._outputs) != 1)
        return f"Release({len(self._outputs)} output{several} of {self._people.rows:,} people)"


def _with(key: IntArray, output: Output) -> IntArray:
    """The key of the finest table with one more output."""
    for codes in codes_of(output):
        key = joined(key, codes)
    return key
