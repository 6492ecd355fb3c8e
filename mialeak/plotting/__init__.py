"""Pictures: trade-off curves in theory and as measured, audits, leakage of rows, sizes and noise,
what a change of a table brings.

The classes follow the rules of scikit-learn's displays: ``from_*`` find what there is to draw and
draw it, ``plot`` draws it once more, and ``ax_``, ``figure_`` and ``line_`` are what was drawn.
With `ax` given nothing of pyplot is touched.
"""

from mialeak.plotting._audit import AuditDisplay
from mialeak.plotting._changes import ChangeDisplay
from mialeak.plotting._leakage import LeakageDisplay
from mialeak.plotting._tradeoff import TradeOffDisplay

__all__ = ["AuditDisplay", "ChangeDisplay", "LeakageDisplay", "TradeOffDisplay"]
