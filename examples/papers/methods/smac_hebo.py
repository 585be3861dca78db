"""SMAC and HEBO, which minimize, and need their own packages: `pip install smac` and `HEBO`."""

from logging import ERROR
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np


class Smac:
    """SMAC's default: a random forest and its log expected improvement.

    Args:
        distributions: Optuna's distributions of the parameters.
        seed: seed of all random choices.
    """

    def __init__(self, distributions: dict[str, Any], seed: int) -> None:
        from ConfigSpace import ConfigurationSpace
        from smac import HyperparameterOptimizationFacade as Facade
        from smac import Scenario

        self._folder = TemporaryDirectory()
        self._space = ConfigurationSpace(smac_parameters(distributions), seed=seed)
        scenario = Scenario(
            self._space,
            n_trials=10_000,
            deterministic=True,
            seed=seed,
            output_directory=Path(self._folder.name),
        )
        self._smac = Facade(
            scenario,
            lambda config, seed: 0.0,
            initial_design=Facade.get_initial_design(scenario, n_configs=0),
            logging_level=ERROR,
        )
        self._asked: Any = None

    def ask(self) -> dict[str, Any]:
        """The next parameters."""
        self._asked = self._smac.ask()
        return dict(self._asked.config)

    def tell(self, params: dict[str, Any], value: float) -> None:
        """Reports the value of the parameters that were asked for, or of first ones."""
        from ConfigSpace import Configuration
        from smac.runhistory.dataclasses import TrialInfo, TrialValue

        trial = self._asked or TrialInfo(Configuration(self._space, params), seed=0)
        self._smac.tell(trial, TrialValue(cost=-value))


def smac_parameters(distributions: dict[str, Any]) -> dict[str, Any]:
    """Optuna's distributions as SMAC describes them."""
    return {name: _parameter(name, of) for name, of in distributions.items()}


def _parameter(name: str, distribution: Any) -> Any:
    from ConfigSpace import Categorical, Float, Integer
    from optuna.distributions import CategoricalDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        return Categorical(name, list(distribution.choices))
    ends = (distribution.low, distribution.high)
    if isinstance(distribution, IntDistribution):
        return Integer(name, ends)
    return Float(name, ends, log=distribution.log)


class Hebo:
    """HEBO's default: a process of transformed values, and three acquisitions.

    Args:
        distributions: Optuna's distributions of the parameters.
        seed: seed of all random choices.
    """

    def __init__(self, distributions: dict[str, Any], seed: int) -> None:
        import torch
        from hebo.design_space.design_space import DesignSpace
        from hebo.optimizers.hebo import HEBO

        np.random.seed(seed)  # noqa: NPY002 - HEBO draws from NumPy's global generator
        torch.manual_seed(seed)
        self._hebo = HEBO(
            DesignSpace().parse(hebo_ranges(distributions)), rand_sample=2, scramble_seed=seed
        )

    def ask(self) -> dict[str, Any]:
        """The next parameters."""
        (params,) = self._hebo.suggest(1).to_dict("records")
        return dict(params)

    def tell(self, params: dict[str, Any], value: float) -> None:
        """Reports the value of parameters."""
        import pandas

        self._hebo.observe(pandas.DataFrame([params]), np.array([[-value]]))


def hebo_ranges(distributions: dict[str, Any]) -> list[dict[str, Any]]:
    """Optuna's distributions as HEBO describes them."""
    return [{"name": name, **_range(of)} for name, of in distributions.items()]


def _range(distribution: Any) -> dict[str, Any]:
    from optuna.distributions import CategoricalDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        return {"type": "cat", "categories": list(distribution.choices)}
    ends = {"lb": distribution.low, "ub": distribution.high}
    if isinstance(distribution, IntDistribution):
        return {"type": "int", **ends}
    return {"type": "pow", "base": 10, **ends} if distribution.log else {"type": "num", **ends}
