"""Data frames in, reports out: what publishing a table of counts leaks about its rows.

A table is a sample.  Two questions can be asked about it, and their answers differ:

- how much do the counts leak, when people are drawn from the *population the table came from*?
  That population is known through the table only, so the answer is an estimate with an interval.
  This is the question an office has, and the number that leads.
- how much, when people are drawn *by the table's own frequencies*?  This is the plug-in value.  It
  is exact for its own question (the table is a census, or the published law) and otherwise far too
  low: it takes each cell seen once for one that everybody knows to exist.

:func:`table_leakage` counts and reports both; :func:`estimate_max_leakage` does the estimate for
counts that are already there, :func:`estimate_atom_leakage` cell by cell.
"""

from __future__ import annotations

from mialeak.tables._by_column import ColumnEffect
from mialeak.tables._estimate import (
    AtomEstimates,
    estimate_atom_leakage,
    estimate_max_leakage,
)
from mialeak.tables._leakage import table_leakage
from mialeak.tables._margins import (
    Margin,
    MarginAccount,
    MarginLeakage,
    MarginReport,
    RowInMargins,
)
from mialeak.tables._persons import PersonAtRisk, PersonsReport
from mialeak.tables._protected_secrets import ProtectedSecret
from mialeak.tables._protections import ProtectedTable
from mialeak.tables._recoding import Recoding
from mialeak.tables._recoding_plan import RecodingPlan, plan_recoding
from mialeak.tables._register_report import (
    PanelReport,
    PopulationReport,
    RowInPopulation,
    StratumInPopulation,
)
from mialeak.tables._report import CellSize, RowAtRisk, SampleSize, TableReport
from mialeak.tables._secrets import SecretReport

__all__ = [
    "AtomEstimates",
    "CellSize",
    "ColumnEffect",
    "Margin",
    "MarginAccount",
    "MarginLeakage",
    "MarginReport",
    "PanelReport",
    "PersonAtRisk",
    "PersonsReport",
    "PopulationReport",
    "ProtectedSecret",
    "ProtectedTable",
    "Recoding",
    "RecodingPlan",
    "RowAtRisk",
    "RowInMargins",
    "RowInPopulation",
    "SampleSize",
    "SecretReport",
    "StratumInPopulation",
    "TableReport",
    "estimate_atom_leakage",
    "estimate_max_leakage",
    "plan_recoding",
    "table_leakage",
]
