"""From a table to a :class:`MeanReport`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NoReturn, get_args, overload

import numpy as np

from mialeak._arrays import (
    as_choice,
    as_count,
    as_flag,
    as_float,
    invalid,
    unsupported,
)
from mialeak._checks.means.genotypes import sampled_rows
from mialeak._fields import as_markers
from mialeak._files.genotypes import GenotypeTable
from mialeak.means._groups import GroupedMeanReport, report_by_group
from mialeak.means._panel import ReferencePanel, is_panel, reference_panel
from mialeak.means._published import PublishedFrequencies, PublishedReport, published_frequencies
from mialeak.means._reading import Gaps, as_table, release_of
from mialeak.means._register import in_register
from mialeak.means._release import Release
from mialeak.means._report import MeanReport
from mialeak.means._tradeoff import unsampled_share

__all__ = ["mean_leakage"]

Covariance = Literal["auto", "full", "shrunk", "diagonal"]
Missing = Literal["error", "drop"]
Unmatched = Literal["error", "omit"]

#: The square of a larger standard deviation may not be a number of float64.
_MOST_NOISE = 1e100


@overload
def mean_leakage(
    table: Any,
    columns: Sequence[Any] | None = None,
    *,
    exclude: Sequence[Any] = (),
    categories: Sequence[Any] = (),
    labels: Sequence[Any] = (),
    structure: Covariance = "auto",
    population: Any = None,
    panel: Any = None,
    unmatched: Unmatched = "error",
    published: Any = None,
    noise_std: float = 0.0,
    sampling_rate: float = 1.0,
    exact: bool = False,
    na: Missing = "error",
    missing: Any = (),
    by: None = None,
    samples: None = None,
) -> MeanReport: ...


@overload
def mean_leakage(
    table: Any,
    columns: Sequence[Any] | None = None,
    *,
    exclude: Sequence[Any] = (),
    categories: Sequence[Any] = (),
    labels: Sequence[Any] = (),
    structure: Covariance = "auto",
    population: Any = None,
    panel: Any = None,
    unmatched: Unmatched = "error",
    published: Any = None,
    noise_std: float = 0.0,
    sampling_rate: float = 1.0,
    exact: bool = False,
    na: Missing = "error",
    missing: Any = (),
    by: Any,
    samples: Any = None,
) -> GroupedMeanReport: ...


def mean_leakage(
    table: Any,
    columns: Sequence[Any] | None = None,
    *,
    exclude: Sequence[Any] = (),
    categories: Sequence[Any] = (),
    labels: Sequence[Any] = (),
    structure: Covariance = "auto",
    population: Any = None,
    panel: Any = None,
    unmatched: Unmatched = "error",
    published: Any = None,
    noise_std: float = 0.0,
    sampling_rate: float = 1.0,
    exact: bool = False,
    na: Missing = "error",
    missing: Any = (),
    by: Any = None,
    samples: Any = None,
) -> MeanReport | GroupedMeanReport:
    """How much publishing the means of a table's columns leaks about each of its rows.

    Published are the means of the columns of numbers and the shares of the values of the others.

    Parameters
    ----------
    table : table
        A pandas, polars or pyarrow table, whatever narwhals takes, a dict of columns (arrays or
        lists of equal length), an array of two dimensions, whose columns are named 0, 1 and so on,
        or the path of a file that the shell would read without options.  One row a person, all of
        them in memory.
    columns : sequence, optional
        Names of the columns to publish; by default all but the columns of text in which every row
        has its own value, as a name has.  The report names those.
    exclude : sequence, optional
        Names of columns not to publish.
    categories : sequence, optional
        Columns of numbers that are names of categories.
    labels : sequence, optional
        Columns that describe a person: reported for the rows at risk, and not published.
    structure : {"auto", "full", "shrunk", "diagonal"}, optional
        The covariance by which rows are judged, with a category as one column of several numbers.
        "full": that of the columns, which takes more than two rows for each free column, and five
        to be known well; "shrunk": correlations shrunk to 0, for tables of any shape; "diagonal":
        variances alone, as if the columns were uncorrelated.  "auto" is "full" with more than 5
        rows for each free column, and "diagonal" with fewer; the report states which.
    population : table or int, optional
        The register that the rows were drawn from without replacement, a table of the same columns
        in which each row is one of the people: its mean and covariance are known.  Or N, the number
        of its people, if only that is known.  By default the population is infinite.
    panel : int, table or path, optional
        The attacker knows the population by a sample of so many other rows alone, or by these
        people, who are not in `table`: their mean and covariance stand for the population.  Of
        genotypes also the frequencies of sites, an .afreq file of PLINK, with the variances of
        Hardy-Weinberg proportions.  By default the mean and covariance of the population are known.
    unmatched : {"error", "omit"}, optional
        What to do with columns that a panel of people or frequencies lacks, has other alleles for
        or has without variation, and with sites of which it counts the other allele: refuse them,
        or leave out the former, and count the latter as the table does.  The report names both.
    published : path, optional
        The frequencies that were published, an .afreq file of PLINK: `table` then has the genotypes
        of targets, with their alleles (VCF, .bed, .raw), who may or may not be among the people of
        the release.  With a `panel` of people or frequencies the report states for each target the
        exact log likelihood ratio of the release, in against out, of independent sites in
        Hardy-Weinberg proportions.
    noise_std : float, optional
        Standard deviation of normal noise on each mean, in standard deviations of its column.
    sampling_rate : float, optional
        Share of the rows, drawn at random, that the means are taken over.
    exact : bool, optional
        Report the rows most at risk once more by the exact law of the means, which takes
        independent columns of two values or of genotype counts, and no noise.
    na : {"error", "drop"}, optional
        What to do with missing values: refuse them, or leave their rows out.
    missing : value or sequence, optional
        Values that mark a missing one too, such as ``["N", -1, "sex=9"]``, the last of one column
        alone, in the table, the register and the panel.
    by : str or sequence, optional
        The means of each group of rows are published, by this column of `table` or `samples`, or by
        these names, one for each row of `table`; each row is judged within its group.
    samples : table or path, optional
        A table whose column "sample" names the people of the column "sample" of `table`, and which
        has the column `by`.

    Returns
    -------
    MeanReport
        The leakage of every row, its distribution, the effect of noise, the noise needed for a
        target leakage, rows at risk.  ``print`` shows it.  With `published` also
        ``log_likelihood_ratios``, None without a panel at hand.
    GroupedMeanReport
        With `by`: such a report on each group.

    Raises
    ------
    TypeError
        If `table` is no table, or a column does not hold single values of one type.
    ValueError
        If columns are missing (the near ones are named), chosen twice or of unequal length, there
        are fewer than 3 rows, `population` has not more people than the table has rows, has fewer
        people like a row than the table, or comes with `panel`, `panel` shares people with the
        table or does not match its columns and ``unmatched="error"``,
        `published` comes with `exact`, `by`, `population`, a sampling rate or a structure other
        than "auto" and "diagonal" or holds no frequencies, `population` or `panel` come with
        `exact`, values are missing and ``na="error"``, numbers are infinite, an
        option is out of range, `by` makes a group of fewer than 3 rows, leaves a row without a
        group or comes with `exact`, `population` or `panel`, `structure` is "full" with too few
        rows for it, or `exact` is asked for columns without an exact law.
    ImportError
        If `table` is a data frame and the extra ``mialeak[dataframe]`` is not installed, or a file
        whose extra is not.
    OSError
        If `table` is a path that cannot be opened.

    See Also
    --------
    leakage_score : if the law of the rows is known.
    mialeak.estimators.mean_influence : the rows of a matrix of numbers.
    noise_for_leakage : the noise for targets that are given.

    Notes
    -----
    Each row is judged against the release of its own table, by the mean and the covariance of the
    other rows.  The number is the limit for many rows.  With c_i the row less the mean of all, S
    the scatter ``sum_i c_i c_i^T``, V the variances of all rows, R the noise, and a an intensity (0
    with "full") ::

        A   = (1 - a) S/(n-2) + a V + n R
        h_i = c_i^T A^-1 c_i
        m_i = n/(n-1)^2 h_i / (1 - (1 - a) n h_i / ((n-1)(n-2)))

    with "diagonal" the same for each column, summed.  With `population` the means of n of N people
    have a variance smaller by ``1 - n/N``: a score is 1/(1 - n/N) times as large without noise.
    The people of a register stand for the rows, with N for n but in ``n R``, and m times N/n.  With
    `panel` the attacker compares with the means of n0 rows: ``1 + n/n0`` in its place; with a
    panel of people or frequencies, of mean u and covariance C, and V = 1 + n/n0, ::

        m_i = (x_i - u)^T (V C + n R)^-1 (x_i - u) / n

    The
    intensity of "shrunk" is the least one with which the scores of the rows average d/n, as scores
    of fresh rows do.

    A full covariance of few rows is uncertain, and a diagonal one takes linked columns for
    independent.  Mean relative error of a score, over five tables each: 500 people of 127
    genotypes, against a panel of 2,004 others, "shrunk" 5 %, "diagonal" 26 %, "full" 36 %; 100 rows
    of 60 normal columns with correlations ``0.8^|i - j|``, 10 % and 27 %; of 300 columns with three
    common factors, 5 % and 42 %.

    **Cost.**  One pass over the table for each amount of noise with "diagonal"; the eigenvectors of
    a matrix of the size of the smaller of rows and columns for "shrunk", and for "full" with noise.

    Examples
    --------
    >>> from mialeak import mean_leakage
    >>> from mialeak.datasets import load_adult
    >>> report = mean_leakage(load_adult().columns, ["age", "hours_per_week", "sex"])
    >>> report
    MeanReport(average=0.003516, highest=0.01306, rows=32561, free_columns=3, covariance='full', \
noise_std=0, rate=1)
    >>> f"{report.noise_needed(0.01)['riskiest']:.4f}"
    '0.0047'
    >>> report.riskiest(1)[0]["furthest"][0]["column"]
    'hours_per_week'
    """
    for name, choice, choices in (
        ("structure", structure, Covariance),
        ("na", na, Missing),
        ("unmatched", unmatched, Unmatched),
    ):
        as_choice(choice, name, get_args(choices))
    exact, noise_std = as_flag(exact, "exact"), _as_noise(noise_std)
    table, gaps = as_table(table), Gaps(as_markers(missing), na == "drop")
    if published is not None:
        _require_plain(by, samples, structure, population, sampling_rate, exact)
        labels = _with_people(_as_names(labels), table)
    if by is not None or samples is not None:
        named = {"columns": columns, "exclude": exclude, "categories": categories, "labels": labels}
        settings = {name: _as_names(names) for name, names in named.items()}
        settings |= {"structure": structure, "noise_std": noise_std, "na": na, "exact": exact}
        settings |= {"sampling_rate": sampling_rate, "population": population, "panel": panel}
        settings["missing"] = gaps.markers
        return report_by_group(mean_leakage, table, by, as_table(samples), settings)
    release = release_of(
        table,
        _as_names(columns),
        exclude=_as_names(exclude),
        categories=_as_names(categories),
        labels=_as_names(labels),
        gaps=gaps,
    )
    if release.rows < 3 and published is None:
        invalid("table", f"have at least 3 rows; it has {release.rows}")
    register = everyone = None
    if population is not None and not isinstance(population, (int, float, np.number)):
        everyone = _everyone(population, release, gaps)
        population = everyone.rows
    rows = release.rows if published is not None else sampled_rows(sampling_rate, release.rows)
    unsampled_share(population, release.rows, rows, "population")
    if everyone is not None:
        register = in_register(release, everyone)
    omit = unmatched == "omit"
    reference, release = _known(published, panel, table, release, gaps=gaps, omit=omit)
    panel = _size(panel, reference)
    known = everyone or (reference.release if reference is not None else None) or release
    covariance = _covariance(structure, known, reference)
    if population is not None and panel is not None:
        why = "a finite population is known, or all of its people might be in the panel"
        unsupported("panel", "with population", why, "Leave out one of the two")
    if exact:
        from mialeak.means._exact_rows import refuse_without_exact_law

        refuse_without_exact_law(release, noise_std, population, panel)
    known.require_rows(covariance)
    return (MeanReport if published is None else PublishedReport)(
        covariance,
        noise_std,
        float(sampling_rate),
        exact,
        release,
        people=None if population is None else int(population),
        panel=panel,
        _register=register,
        _reference=reference,
    )


def _known(
    published: Any, panel: Any, table: Any, release: Release, *, gaps: Gaps, omit: bool
) -> tuple[ReferencePanel | None, Release]:
    """What a panel or published frequencies state, and the columns that they judge."""
    if published is not None:
        return published_frequencies(published, panel, table, release, gaps=gaps, omit=omit)
    if is_panel(panel):
        return reference_panel(
            as_table(panel, frequencies=True), table, release, gaps=gaps, omit=omit
        )
    return None, release


def _size(panel: Any, reference: ReferencePanel | None) -> int | None:
    """People of the panel."""
    if reference is not None and is_panel(panel):
        return reference.size
    return None if panel is None else as_count(panel, "panel", least=1)


def _require_plain(
    by: Any, samples: Any, structure: str, population: Any, rate: Any, exact: bool
) -> None:
    """Refuse what published frequencies have no answer for."""
    if by is not None or samples is not None:
        _refuse_published("with by", "the release has no groups", "Leave out by and samples")
    if structure not in ("auto", "diagonal"):
        why = "frequencies have no correlations"
        _refuse_published(f"with structure={structure!r}", why, "Leave out structure")
    if population is not None:
        why = "the release is one of an infinite population"
        _refuse_published("with population", why, "Leave out population")
    if rate != 1.0:
        why = "the release states over how many people its frequencies are taken"
        _refuse_published("with sampling_rate", why, "Leave out sampling_rate")
    if exact:
        why = "the leakage is asymptotic; the likelihood ratio of each target is exact"
        remedy = "Leave out exact, or call exact_mean_tradeoff with laws.Genotype for a target"
        _refuse_published("with exact", why, remedy)


def _with_people(labels: Any, table: Any) -> list[Any]:
    """The labels, with the column of the people of a file of genotypes."""
    labels = list(labels)
    known = isinstance(table, GenotypeTable) and "sample" in table and "sample" not in labels
    return [*labels, "sample"] if known else labels


def _refuse_published(case: str, why: str, remedy: str) -> NoReturn:
    unsupported("published", case, why, remedy)


def _everyone(population: Any, release: Release, gaps: Gaps) -> Release:
    """The people of a register, with the columns of a release."""
    return release_of(
        as_table(population),
        [column.name for column in release.columns],
        categories=[column.name for column in release.categories],
        gaps=gaps,
        argument="population",
    )


def _covariance(structure: str, known: Release, reference: ReferencePanel | None) -> str:
    """The covariance by which rows are judged."""
    if isinstance(reference, PublishedFrequencies):
        return "diagonal"
    if reference is not None and reference.release is None:
        if structure not in ("auto", "diagonal"):
            why = "frequencies have no correlations"
            case = "for a panel of frequencies"
            unsupported(f"structure={structure!r}", case, why, "Pass the people of the panel")
        return "diagonal"
    if structure == "auto":
        return "full" if known.has_rows_for_full else "diagonal"
    return structure


def _as_noise(noise_std: Any) -> float:
    std = as_float(noise_std, "noise_std")
    if not 0.0 <= std <= _MOST_NOISE:
        invalid("noise_std", f"be between 0 and {_MOST_NOISE:g}", value=std)
    return std


def _as_names(names: Any) -> Any:
    return [names] if isinstance(names, str) else names
