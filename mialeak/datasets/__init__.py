"""Small real tables that ship with the package, each with its origin, licence and citation.

=================== =========================================================================
:func:`load_adult`     32,561 people of the 1994 US census survey, 11 columns (UCI Adult)
:func:`load_genotypes` 2,504 people of the 1000 Genomes Project, 127 SNPs
=================== =========================================================================

Nothing is downloaded.  The scripts that made the files are in the source tree, in
``mialeak/datasets/_build``.
"""

from __future__ import annotations

from mialeak.datasets._load import Dataset, Genotypes, load_adult, load_genotypes

__all__ = ["Dataset", "Genotypes", "load_adult", "load_genotypes"]
