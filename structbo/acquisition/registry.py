"""The criteria by name."""

from structbo.acquisition.additive_ucb import AdditiveUCB
from structbo.acquisition.criterion import Criterion
from structbo.acquisition.est import EST
from structbo.acquisition.expected_improvement import LogEI, LogEQI
from structbo.acquisition.interior_improvement import InteriorEI
from structbo.acquisition.max_value_entropy import MES, AdditiveMES
from structbo.acquisition.probability_of_improvement import LogPI
from structbo.acquisition.thompson import Thompson
from structbo.acquisition.ucb import UCB
from structbo.models.foundation.arguments import checked_choice

CRITERIA: dict[str, Criterion] = {
    "interior_ei": InteriorEI(),
    "log_ei": LogEI(),
    "log_eqi": LogEQI(),
    "log_pi": LogPI(),
    "ucb": UCB(),
    "est": EST(),
    "mes": MES(),
    "additive_ucb": AdditiveUCB(),
    "additive_mes": AdditiveMES(),
    "thompson": Thompson(),
}
"""The criteria by name, with their default arguments."""
DEFAULT_CRITERION = "interior_ei"
"""The name of the criterion of a search that is given none."""


def as_criterion(criterion: str | Criterion) -> Criterion:
    """The criterion with a name, or the given criterion.

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
    example = "structbo.acquisition.UCB(beta=4.0)"
    is_instance = isinstance(criterion, Criterion)
    return checked_choice("criterion", criterion, CRITERIA, is_instance, example)
