"""``mialeak mean``: the leakage of the published means of a table's columns."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mialeak.cli import _options, _output

__all__ = ["add_parser", "run"]

#: What describes the people of an example.
_LABELS = ("sample", "population", "superpopulation")
#: Columns and bytes of a file that is read whole, though some columns are published alone.
_WIDE, _SMALL = 200, 2**24
#: What limits are compared with.
_RISKIEST = "riskiest row"

_DESCRIPTION = """\
How much does publishing the means of a table's columns leak about each of its
rows?
Leakage is the best attacker's advantage: 0 is guessing, 1 is certainty.

The release consists of the means of numeric columns and the shares of each
value of the other columns.  Columns of text in which every row has a different
value, such as names, are not published.  The leakage about a row is computed
with the mean and the covariance of the other rows.  The covariance is full
with more than five rows for each column, and diagonal otherwise.  With fewer
rows, --covariance shrunk takes correlations into account.
"""

_EPILOG = """\
Noise is given in standard deviations of each column.  Example: age has the
standard deviation 14; noise of 0.05 adds to its mean a normal variable with
standard deviation 0.7.

With --max-leakage X the command is a gate: it exits with 2 if the riskiest row
leaks more than X, with 0 if not; with --exact, also if one of the --top rows
does by the exact law.  An answer within X that has cautions, since the table
may not be what was meant, exits with 3 unless --accept-cautions is passed.  An
error, usage included, exits with 1.

Examples:
  mialeak mean --example genotypes --exact --top 5
  mialeak mean microdata.csv --columns age,income,region --max-leakage 0.05
  mialeak mean --example genotypes --by superpopulation
  mialeak mean targets.vcf.gz --published cohort.afreq --html report.html
"""


#: How files end that list the people of a VCF, whose format these suffixes do not state.
_LISTS = (".panel", ".psam", ".fam", ".pop", ".sample", ".txt")


def add_parser(commands: Any) -> None:
    """Describe the subcommand."""
    parser = commands.add_parser(
        "mean",
        help="leakage of the published means of a table",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add = _options.group(parser, "file")
    _options.add_table_options(parser.add_argument, add, ("genotypes", "adult"))
    add(
        "--na",
        choices=("error", "drop"),
        default="error",
        help="missing values, in a CSV the empty fields: refuse them (default) or drop their rows",
    )
    _add_release(_options.group(parser, "what is published"))
    _add_population(_options.group(parser, "what the attacker knows"))
    add = _options.group(parser, "report")
    _options.add_target(add, "noise")
    add(
        "--covariance",
        choices=("auto", "full", "shrunk", "diagonal"),
        default="auto",
        help="covariance of the columns: full, shrunk (for few rows), diagonal (uncorrelated), or "
        "auto (default): full with more than 5 rows a column, else diagonal",
    )
    add(
        "--exact",
        action="store_true",
        help="also report the exact leakage about the rows most at risk, if columns are "
        "independent; for columns of two values, such as 0 and 1, or of genotype counts 0, 1, 2",
    )
    _options.add_top(add, 20)
    _options.add_show_rows(add)
    _options.add_gate(_options.group(parser, "gate"))
    _options.add_outputs(_options.group(parser, "output"))
    parser.set_defaults(run=run)


def _add_release(add: Any) -> None:
    """Describe which means are published."""
    add("--columns", metavar="A,B,C", help="columns to publish (default: all of FILE)")
    _options.add_exclude(add)
    add("--categories", metavar="A,B", help="columns of numbers that are names of categories")
    add(
        "--by",
        metavar="A",
        help="the means of each group of rows are published, by this column of FILE or --samples",
    )
    add(
        "--samples",
        metavar="TABLE",
        help='a table whose column "sample" has the people of FILE, and which has the column --by',
    )
    add(
        "--published",
        metavar="FILE.afreq",
        help="the frequencies that were published; the people of FILE are targets, who may be "
        "among those of the release or not (see also --panel)",
    )
    _options.add_rate(add)
    add(
        "--noise-std",
        type=_options.number(_options.NOISE),
        default=0.0,
        metavar="S",
        help="noise on each mean, in standard deviations of its column (default: 0)",
    )


def _add_population(add: Any) -> None:
    """Describe what the attacker knows of the population."""
    add(
        "--population",
        metavar="FILE|N",
        help="the register that the rows were drawn from without replacement, a table with a row "
        "for each of its people; or their number N (default: an infinite population)",
    )
    add(
        "--panel",
        metavar="FILE|N",
        help="what the attacker knows of the population: N other rows, the people of FILE, or the "
        "frequencies of sites in FILE.afreq (default: its law)",
    )
    add(
        "--unmatched",
        choices=("error", "omit"),
        default="error",
        help="columns that the panel lacks or cannot judge, and sites with swapped alleles: refuse "
        "them (default), or leave out the former and count the latter as FILE does",
    )


def run(options: argparse.Namespace) -> int:
    """Print the report; 2 if it is over the limit."""
    if options.by is not None and options.show_rows:
        raise ValueError("--show-rows is not available with --by: print one group without --by")
    frame, settings, inputs, origin = _inputs(options)
    if options.by is not None or options.samples is not None:
        return _run_by(options, frame, settings, inputs, origin)
    from mialeak.means import mean_leakage

    report = mean_leakage(frame, **settings)
    limit = options.max_leakage
    over, verdict = _output.judge(f"The {_RISKIEST}", report.highest, limit)
    if report.exact and limit is not None and not over:
        rows = report.exact_rows(max(1, options.top)).rows
        worst = max(rows, key=lambda row: row["leakage"])
        if worst["leakage"] > report.highest:
            subject = f"The exact leakage of row {worst['row']}"
            over, verdict = _output.judge(subject, worst["leakage"], limit)
    shown = {"leakage": options.target, "top": options.top, "show_rows": options.show_rows}
    content = report.to_dict(**shown)
    content["limit"] = None if limit is None else {"max_leakage": limit, "over": over}
    text = report.document(**shown)
    title = f"What publishing means of {options.example or inputs[0].name} leaks"
    if options.published is not None:
        title = f"What published frequencies leak about the people of {inputs[0].name}"
    return _output.give(
        options,
        text,
        schema="mialeak.mean/2",
        content=content,
        panels=report.panels(leakage=options.target),
        title=title,
        inputs=inputs,
        verdict=verdict,
        over=over,
        source=origin,
        judged={"leakage": (_RISKIEST, report.highest)},
    )


def _run_by(
    options: argparse.Namespace,
    frame: Any,
    settings: dict[str, Any],
    inputs: list[Path],
    origin: str,
) -> int:
    """Print the report on the groups; 2 if one is over the limit."""
    from mialeak.means import mean_leakage

    samples = None if options.samples is None else _samples(options)
    chosen = None if options.columns is None else _options.names(options.columns, "--columns")
    settings |= {"columns": chosen, "by": options.by, "samples": samples}
    groups = mean_leakage(frame, **settings)
    limit = options.max_leakage
    over, verdict = _output.judge(f"The {_RISKIEST}", groups.highest, limit)
    shown = {"leakage": options.target, "top": options.top}
    content = groups.to_dict(**shown)
    content["limit"] = None if limit is None else {"max_leakage": limit, "over": over}
    return _output.give(
        options,
        groups.document(**shown),
        schema="mialeak.mean-groups/1",
        content=content,
        panels=groups.panels(leakage=options.target),
        title=f"What publishing means of groups of {options.example or inputs[0].name} leaks",
        inputs=inputs,
        verdict=verdict,
        over=over,
        source=origin,
        judged={"leakage": (_RISKIEST, groups.highest)},
    )


def _samples(options: argparse.Namespace) -> Any:
    """The columns of --samples: the people, and the groups."""
    from mialeak._columns import near

    path = options.samples
    if Path(path).suffix.lower() in _LISTS:
        raise ValueError(
            "--samples must end in .csv or .tsv, which states its format, or in that of another "
            f"table; rename {path}. --format names the format of FILE alone"
        )

    def chosen(names: list[Any]) -> list[Any]:
        if "sample" not in names:
            raise ValueError(
                f"--samples must have a column 'sample', with the names that FILE has; {path} has "
                f"{', '.join(map(repr, names))}"
            )
        if options.by is None:
            return names
        if options.by not in names:
            raise ValueError(
                f"--by must be one column of {path}; got {options.by!r}. Groups of several columns "
                "go into one, such as the texts of the values joined. "
                f"{near(options.by, names)}"
            )
        return ["sample", options.by]

    of_file = argparse.Namespace(**{**vars(options), "file": path, "format": None})
    return _options.read_file(of_file, chosen)


def _inputs(options: argparse.Namespace) -> tuple[Any, dict[str, Any], list[Path], str]:
    """The table, what is asked of it, the files, and the source of an example."""
    _options.one_table(options, "mean")
    options.typed |= {
        "categories": "--categories",
        "exact": "--exact",
        "by": "--by",
        "exclude": "--exclude",
        "panel": "--panel",
        "population": "--population",
        "published": "--published",
        "samples": "--samples",
        "sampling_rate": "--rate",
        "structure": "--covariance",
        "unmatched": "--unmatched",
    }
    columns = None if options.columns is None else _options.names(options.columns, "--columns")
    labels: tuple[str, ...] = ()
    origin = ""
    if options.file is not None:
        beside_columns = [options.by if options.samples is None else "sample"]
        wanted = columns if columns is None or options.by is None else columns + beside_columns
        frame, file = _options.read_file(options, _with_heeded(wanted, options)), Path(options.file)
    else:
        from mialeak import datasets

        example: Any = getattr(datasets, f"load_{options.example}")()
        origin = f"Table from {example.source} ({example.licence})"
        frame, file = example.columns, example.file
        if options.example == "genotypes":
            labels = _LABELS
            described = {name: frame[name] for name in labels}
            frame = described | dict(zip(example.snps.tolist(), example.counts.T, strict=True))
    population, inputs = _options.read_population(options, options.population, whole=True)
    panel, beside = _options.read_population(options, options.panel, whole=True, frequencies=True)
    published, released = _options.read_population(
        options, options.published, is_size=False, whole=True, frequencies=True
    )
    settings = {
        "columns": columns,
        "exclude": _options.names(options.exclude or "", "--exclude"),
        "categories": _options.names(options.categories or "", "--categories"),
        "labels": labels,
        "structure": options.covariance,
        "population": population,
        "panel": panel,
        "unmatched": options.unmatched,
        "published": published,
        "noise_std": options.noise_std,
        "sampling_rate": options.rate,
        "exact": options.exact,
        "na": options.na,
    }
    samples = [] if options.samples is None else [Path(options.samples)]
    return frame, settings, [file, *inputs, *beside, *released, *samples], origin


def _with_heeded(wanted: list[Any] | None, options: argparse.Namespace) -> Any:
    """As a function of the names of a file, the columns `wanted` and those that bear a caution.

    Persons of several rows may be named by a column that is left out, or show in what their rows
    have in common; of a wide or large file those with such a name are read alone.
    """
    if wanted is None:
        return None
    from mialeak._checks.names import is_number_of_examples, is_person_name, is_weight

    file = Path(options.file)
    small = file.is_file() and file.stat().st_size <= _SMALL

    def columns(names: Sequence[str]) -> list[Any]:
        whole = small and len(names) <= _WIDE
        kinds = is_person_name, is_weight, is_number_of_examples
        heeded = [name for name in names if whole or any(kind(name) for kind in kinds)]
        return list(dict.fromkeys([*wanted, *heeded]))

    return columns
