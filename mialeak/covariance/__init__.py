"""Streaming covariance and Mahalanobis distances, from one block of rows to a cluster."""

from __future__ import annotations

from mialeak.covariance._estimator import StreamingCovariance
from mialeak.covariance._parameters import NotFittedError

__all__ = ["NotFittedError", "StreamingCovariance"]
