"""The settings that `suggest`, `Optimizer`, `minimize` and `maximize` share, in one place."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np

from structbo.acquisition import DEFAULT_CRITERION, Criterion, as_criterion
from structbo.batches import BatchStrategy, as_strategy
from structbo.draws import Inference, check_run, default_model, with_categories
from structbo.maximizers import Maximizer, as_maximizer
from structbo.models import AdditiveGP
from structbo.models.foundation.arguments import (
    checked_bool,
    checked_count,
    checked_function,
    checked_model,
    checked_seed,
)
from structbo.models.foundation.device import AUTO, checked_device
from structbo.samplers import SamplerFactory
from structbo.space import Space
from structbo.space.spelling import did_you_mean

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Keywords(TypedDict, total=False):
    """The types of settings as keyword arguments; see `Settings`."""

    seed: int
    model: AdditiveGP | None
    num_initial: int | None
    criterion: str | Criterion
    maximizer: str | Maximizer
    batch: str | BatchStrategy
    sampler: SamplerFactory | None
    inference: Inference | None
    warp: bool
    standardize: bool
    device: str


def _setting(checked: Callable[[Any], Any], default: Any = MISSING) -> Any:
    """A field with its check, which returns the stored value, such as an instance for a name."""
    return field(default=default, metadata={"checked": checked})


def _checked_optional(name: str, value: Any) -> Any:
    return None if value is None else checked_function(name, value)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a search.

    Functions and classes that propose points take these as keyword arguments, all of which are
    optional. There, the name of a criterion, maximizer or batch strategy stands for an instance
    with its default arguments.

    Args:
        seed: seed of all random choices, a non-negative integer. The same seed and observations
            give the same points.
        model: a NumPyro model, ``model(X, y=None, mask=None)``; by default main effects, a random
            graph of pairs and a residual, `structbo.default_model`, and `structbo.anova_model` for
            `Optimizer.posterior`. An `AdditiveGP` without categorical dimensions gets the
            categories of the space.
        num_initial: number of finite values before which points are quasi-random; by default twice
            the number of dimensions, between 4 and 20.
        criterion: the acquisition criterion, a name of `structbo.acquisition.CRITERIA` such as
            "log_ei", "ucb" or "thompson", or an instance such as
            ``structbo.acquisition.UCB(beta=4.0)``. The default, "interior_ei", is the expected
            improvement, less at the ends of the ranges.
        maximizer: the maximizer of the criterion, a name of `structbo.maximizers.MAXIMIZERS` such
            as "direct", or an instance such as ``structbo.maximizers.Direct(max_evaluations=500)``.
            By default, the maxima of message passing and other candidates are moved along
            coordinates and by gradient.
        batch: the strategy for several points at a time, a name of
            `structbo.batches.BATCH_STRATEGIES` such as "dpp_sample" or "local_penalization", or an
            instance such as ``structbo.batches.DPPSample(accuracy=0.01)``. By default, each point
            treats the earlier ones as known to have their posterior means, without noise.
        sampler: the sampler of the model's sites, a function from a model to a NumPyro kernel, such
            as `structbo.samplers.ParallelTempering` or `numpyro.infer.NUTS`. The default is
            `structbo.samplers.search_sampler` for the search, and
            `structbo.samplers.default_sampler` for `Optimizer.posterior`.
        inference: the source of the draws that the criterion is averaged over, a function of a
            model and a seed, see `structbo.draws`. The default is a Markov chain of the sampler,
            which an `Optimizer` continues between calls.
        warp: whether values are power-transformed by `structbo.data.Warping`, which compresses bad
            values. The power is learned together with the chain's draws; it is one if values fit
            the model already. Only with a Markov chain.
        standardize: whether values are scaled to mean 0 and variance 1 before they are modeled. If
            False, they are not warped either, and the priors of the model are in the units of the
            objective.
        device: where the model is computed: "cpu", or another kind of devices that JAX has, such as
            "gpu". With "auto", a large problem is computed on an accelerator if there is one, and
            any other on the processor, see `structbo.models.foundation.device.LEAST_WORK`. The
            environment variable STRUCTBO_DEVICE replaces "auto".

    Raises:
        ValueError: if a number is out of range.
        TypeError: if a setting is of the wrong kind.
    """

    seed: int = _setting(checked_seed, 0)
    model: AdditiveGP = _setting(checked_model)
    num_initial: int = _setting(partial(checked_count, "num_initial", least=0))
    criterion: Criterion = _setting(as_criterion, DEFAULT_CRITERION)
    maximizer: Maximizer = _setting(as_maximizer, "multi_start")
    batch: BatchStrategy = _setting(as_strategy, "believer")
    sampler: SamplerFactory | None = _setting(partial(_checked_optional, "sampler"), None)
    inference: Inference | None = _setting(partial(_checked_optional, "inference"), None)
    warp: bool = _setting(partial(checked_bool, "warp"), True)
    standardize: bool = _setting(partial(checked_bool, "standardize"), True)
    device: str = _setting(checked_device, AUTO)

    def __post_init__(self) -> None:
        for setting in fields(self):
            checked = setting.metadata["checked"](getattr(self, setting.name))
            object.__setattr__(self, setting.name, checked)

    @property
    def warps(self) -> bool:
        """Whether values are warped, which includes their standardization."""
        return self.warp and self.standardize

    @classmethod
    def of(cls, space: Space, **given: Unpack[Keywords]) -> "Settings":
        """All settings of a search in a space, from given keyword arguments.

        Raises:
            ValueError: if a number is out of range, or the name of an instance is unknown.
            TypeError: if a name is not a setting, or a setting is of the wrong kind.

        Example:
            >>> settings = Settings.of(Space({"x": (0.0, 1.0)}), criterion="ucb")
            >>> settings.criterion, settings.num_initial
            (UCB(beta=HalfLog()), 4)
        """
        check_names(given)
        known: dict[str, Any] = {**given}
        if known.get("model") is None:
            known["model"] = default_model(num_dims=space.num_dims)
        known["model"] = with_categories(known["model"], space)
        if known.get("num_initial") is None:
            known["num_initial"] = int(np.clip(2 * space.num_dims, 4, 20))
        settings = cls(**known)
        if given.get("model") is not None:
            check_run(settings.model, space.num_dims)
        return settings

    def contradicted(self, space: Space, given: Keywords) -> list[str]:
        """Names of the given keyword arguments that differ from these settings."""
        others = Settings.of(space, **given)
        return [name for name in given if getattr(others, name) != getattr(self, name)]


def check_names(given: Keywords) -> None:
    """Checks that all keyword arguments are settings.

    Raises:
        TypeError: if a name is not a setting.
    """
    names = Keywords.__annotations__
    for name in given:
        if name not in names:
            raise TypeError(
                f"{name!r} is not a setting{did_you_mean(name, names)}; settings are "
                f"{', '.join(names)}, see structbo.Settings."
            )


KEYWORDS = [
    inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None if setting.default is MISSING else setting.default,
        annotation=Keywords.__annotations__[setting.name],
    )
    for setting in fields(Settings)
]
"""The settings as keyword arguments of a signature; None stands for a default of the space."""


def shows(keywords: Iterable[inspect.Parameter]) -> Callable[[Decorated], Decorated]:
    """Shows keyword arguments in the signature of a function that takes them as ``**settings``.

    Type checkers and editors read the typed dictionary; `help` and notebooks read the signature.
    """

    def decorate(function: Decorated) -> Decorated:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        shown = signature.replace(parameters=[*own, *keywords])
        function.__signature__ = shown  # type: ignore[attr-defined]
        return function

    return decorate
