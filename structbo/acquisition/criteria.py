"""The criteria by name."""

from structbo.acquisition.additive_ucb import AdditiveUCB
from structbo.acquisition.criterion import Criterion
from structbo.acquisition.est import EST
from structbo.acquisition.expected_improvement import LogEI
from structbo.acquisition.max_value_entropy import MES, AdditiveMES
from structbo.acquisition.probability_of_improvement import LogPI
from structbo.acquisition.thompson import Thompson
from structbo.acquisition.ucb import UCB

CRITERIA: dict[str, Criterion] = {
    "log_ei": LogEI(),
    "pi": LogPI(),
    "ucb": UCB(),
    "est": EST(),
    "mes": MES(),
    "additive_ucb": AdditiveUCB(),
    "additive_mes": AdditiveMES(),
    "thompson": Thompson(),
}
"""What a name stands for: the criterion with its default arguments."""


def as_criterion(criterion: str | Criterion) -> Criterion:
    """The criterion of a name, or the criterion itself.

    Args:
        criterion: a name of `CRITERIA`, or an instance.

    Returns:
        The instance.

    Raises:
        ValueError: if the name is unknown.
        TypeError: if it is neither a name nor an instance of a criterion.

    Example:
        >>> as_criterion("ucb") == UCB()
        True
    """
    if isinstance(criterion, Criterion):
        return criterion
    known = ", ".join(map(repr, CRITERIA))
    if not isinstance(criterion, str):
        raise TypeError(
            f"criterion must be one of {known}, or an instance such as "
            f"structbo.acquisition.UCB(beta=4.0); got {criterion!r}."
        )
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {known}, got {criterion!r}.")
    return CRITERIA[criterion]
