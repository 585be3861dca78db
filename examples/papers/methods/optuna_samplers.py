"""Samplers of Optuna, which needs its own package: `pip install optuna cmaes`."""

from typing import Any


class OfOptuna:
    """A sampler of Optuna, on parameters by name.

    Args:
        sampler: the sampler.
        distributions: Optuna's distributions of the parameters.
    """

    def __init__(self, sampler: Any, distributions: dict[str, Any]) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._distributions = distributions
        self._asked: Any = None
        self._study: Any = optuna.create_study(direction="maximize", sampler=sampler)

    @classmethod
    def named(cls, name: str, distributions: dict[str, Any], **settings: Any) -> "OfOptuna":
        """One of Optuna's own samplers, with its settings."""
        import optuna

        return cls(getattr(optuna.samplers, name)(**settings), distributions)

    def ask(self) -> dict[str, Any]:
        """The next parameters."""
        self._asked = self._study.ask(self._distributions)
        return dict(self._asked.params)

    def tell(self, params: dict[str, Any], value: float) -> None:
        """Reports the value of the parameters that were asked for, or of first ones."""
        from optuna.trial import create_trial

        if self._asked is None:
            of = self._distributions
            self._study.add_trial(create_trial(params=params, distributions=of, value=value))
        else:
            self._study.tell(self._asked, value)
