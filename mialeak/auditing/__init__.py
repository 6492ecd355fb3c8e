"""From scores of attacks to what they prove: lower bounds, intervals and a band, with proof.

:func:`audit` takes scores of separate runs (or of canaries that do not disturb one another) in the
two worlds; :func:`one_run_audit` takes the scores of many canaries in one training run.  Each
states what must be independent: bounds on scores that are not independent prove nothing.
"""

from mialeak.auditing._audit import AuditResult, audit
from mialeak.auditing._intervals import Band, Interval
from mialeak.auditing._one_run import OneRunResult, one_run_audit, one_run_p_value
from mialeak.auditing._power import AuditPower, audit_power
from mialeak.auditing._shadow import ShadowAudit, shadow_audit
from mialeak.auditing._stream import AuditStream

__all__ = [
    "AuditPower",
    "AuditResult",
    "AuditStream",
    "Band",
    "Interval",
    "OneRunResult",
    "ShadowAudit",
    "audit",
    "audit_power",
    "one_run_audit",
    "one_run_p_value",
    "shadow_audit",
]
