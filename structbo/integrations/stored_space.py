"""The part of a search space that Optuna does not record, as an attribute of the study."""

import math
from typing import Any

from optuna import Study

from structbo.space import LinearConstraint, Ordinal, Space

SPACE = "structbo:space"
"""System attribute of a study: its ordinal parameters and its constraints."""


def store_space(study: Study, space: Space) -> None:
    """Stores the names of ordinal parameters, and the constraints.

    Args:
        study: the study.
        space: the search space, whose ranges and choices Optuna stores with every trial.

    Example:
        >>> import optuna
        >>> study = optuna.create_study()
        >>> store_space(study, Space({"k": Ordinal([16, 32]), "x": (0.0, 1.0)}))
        >>> stored_ordinals(study)
        {'k'}
    """
    ordinals = [name for name, made in space.spec.items() if isinstance(made, Ordinal)]
    constraints = [_arguments(constraint) for constraint in space.constraints]
    found: dict[str, Any] = {"ordinals": ordinals, "constraints": constraints}
    if found != _stored(study):
        study._storage.set_study_system_attr(study._study_id, SPACE, found)


def stored_ordinals(study: Study) -> set[str]:
    """The names of the ordinal parameters of a study."""
    return set(_stored(study)["ordinals"])


def stored_constraints(study: Study) -> list[LinearConstraint]:
    """The constraints of a study."""
    return [LinearConstraint(**one) for one in _stored(study)["constraints"]]


def _stored(study: Study) -> dict[str, Any]:
    attributes = study._storage.get_study_system_attrs(study._study_id)
    empty: dict[str, Any] = {"ordinals": [], "constraints": []}
    return attributes.get(SPACE, empty)


def _arguments(constraint: LinearConstraint) -> dict[str, Any]:
    """The arguments of a constraint, without infinite bounds, which JSON does not have."""
    bounds = {"low": constraint.low, "high": constraint.high}
    finite = {side: bound for side, bound in bounds.items() if math.isfinite(bound)}
    return {"weights": dict(constraint.weights), **finite}
