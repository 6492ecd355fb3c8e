"""Parameters and all else that scikit-learn asks of an estimator, without importing it."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Collection
from typing import Any, Self

import numpy as np

from mialeak._arrays import as_choice, as_count, as_float, invalid
from mialeak.covariance._factors import Factor
from mialeak.covariance._learning import about_zero
from mialeak.covariance._moments import Moments
from mialeak.covariance._shrinkage import factor_of

__all__ = ["NotFittedError", "Once", "Parameters"]

_STRUCTURES = ("full", "diagonal", "block", "low-rank")


class NotFittedError(ValueError, AttributeError):
    """No row was seen yet; the bases are those of scikit-learn's error of this name.

    Examples
    --------
    >>> from mialeak.covariance import NotFittedError, StreamingCovariance
    >>> try:
    ...     StreamingCovariance().mahalanobis([[0.0]])
    ... except NotFittedError:
    ...     print("fit first")
    fit first
    """


class Once:
    """A factor that is made by the first thread that asks for it, for one set of parameters."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: tuple[tuple[Any, float, bool], Factor] | None = None

    def get(self, moments: Moments, rule: Any, ridge: float, is_about_zero: bool) -> Factor:
        """The factor, made now or before."""
        key, made = (rule, ridge, is_about_zero), self._made
        if made is None or made[0] != key:
            with self._lock:
                made = self._made
                if made is None or made[0] != key:
                    if is_about_zero:
                        moments = about_zero(moments)
                    made = self._made = key, factor_of(moments, rule, ridge)
        return made[1]


class Parameters:
    """Parameters by name, their check, and how an estimator prints and travels."""

    def __init__(
        self,
        *,
        structure: str = "full",
        shrinkage: float | str | None = None,
        ridge: float = 0.0,
        blocks: Any = None,
        missing: str = "error",
        assume_centered: bool = False,
        workers: int = 1,
    ):
        self.structure = structure
        self.shrinkage = shrinkage
        self.ridge = ridge
        self.blocks = blocks
        self.missing = missing
        self.assume_centered = assume_centered
        self.workers = workers

    @classmethod
    def _names(cls) -> tuple[str, ...]:
        return tuple(sorted(inspect.signature(cls).parameters))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, as scikit-learn asks for them.

        Parameters
        ----------
        deep : bool
            Ignored: no parameter is an estimator.

        Returns
        -------
        dict
        """
        del deep
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, to be used from now on.

        What was seen is kept: another `shrinkage`, `ridge` or `assume_centered` makes another
        covariance of the same rows.

        Parameters
        ----------
        **params
            As in the constructor.

        Returns
        -------
        StreamingCovariance
            Itself.

        Raises
        ------
        ValueError
            For a name that is no parameter.  Nothing has changed then.
        """
        for name in params:
            as_choice(name, "params", self._names())
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(allow_nan=self.missing == "drop"),
        )

    def __sklearn_is_fitted__(self) -> bool:
        learnt = self.__dict__.get("_learnt")
        return learnt is not None and learnt.moments.n > 0

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        shown = (
            f"{name}={getattr(self, name)!r}"
            for name in defaults
            if repr(getattr(self, name)) != repr(defaults[name].default)
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_once"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_learnt" in state:
            self._once = Once()

    def __copy__(self) -> Self:
        """The same as it is now, whatever either learns later."""
        state = self.__getstate__()
        if "_learnt" in state:
            state["_learnt"] = state["_learnt"].copy()
        twin = type(self).__new__(type(self))
        twin.__setstate__(state)
        return twin

    def _check_parameters(self) -> tuple[Any, float]:
        """Shrinkage and ridge, once all parameters are found to be good."""
        as_choice(self.structure, "structure", _STRUCTURES)
        as_choice(self.missing, "missing", ("error", "drop"))
        if not isinstance(self.assume_centered, (bool, np.bool_)):
            invalid("assume_centered", "be True or False", value=self.assume_centered)
        if (self.blocks is not None) != (self.structure == "block"):
            invalid("blocks", "be the widths of the blocks for structure='block', else None")
        if self.blocks is not None and not isinstance(self.blocks, Collection):
            invalid("blocks", "be a sequence of widths", value=self.blocks, error=TypeError)
        for place, width in enumerate(() if self.blocks is None else self.blocks):
            as_count(width, f"blocks[{place}]", least=1)
        ridge = as_float(self.ridge, "ridge")
        if ridge < 0.0:
            invalid("ridge", "be at least 0", value=ridge)
        rule = self.shrinkage
        if isinstance(rule, str):
            if rule not in ("ledoit-wolf", "oas", "oas-simplified"):
                allowed = "be a number, 'ledoit-wolf', 'oas', 'oas-simplified' or None"
                invalid("shrinkage", allowed, value=rule)
            if rule != "ledoit-wolf" and self.structure == "diagonal":
                invalid("shrinkage", "be 'ledoit-wolf' or a number for variances alone", value=rule)
        elif rule is not None:
            rule = as_float(rule, "shrinkage")
            if not 0.0 <= rule <= 1.0:
                invalid("shrinkage", "be between 0 and 1", value=rule)
        return rule, ridge
