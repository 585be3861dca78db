"""The settings that `suggest`, `Optimizer`, `minimize` and `maximize` share, in one place."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

import numpy as np

from structbo.acquisition import Criterion, as_criterion
from structbo.batches import BatchStrategy, as_strategy
from structbo.draws import Inference, check_run, default_model
from structbo.maximizers import Maximizer, as_maximizer
from structbo.models import AdditiveGP
from structbo.models.foundation.arguments import (
    check_model,
    checked_bool,
    checked_count,
    checked_seed,
)
from structbo.samplers import Sampler, default_sampler
from structbo.space import Space
from structbo.space.spelling import did_you_mean

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Settings(TypedDict, total=False):
    """How the next points are found: keyword arguments of everything that proposes points.

    All are optional. A name stands for an instance with its default arguments.

    Args:
        seed: for all random choices, an integer from 0 up. The same seed and observations give the
            same points.
        model: a NumPyro model, ``model(X, y=None, mask=None)``; by default main effects, a random
            graph of pairs and a residual, `structbo.default_model`.
        num_initial: with fewer finite values than this, points are quasi-random; by default twice
            the number of dimensions, between 4 and 20.
        criterion: what makes a point worth evaluating, a name of `structbo.acquisition.CRITERIA`
            such as "log_ei", "ucb" or "thompson", or an instance such as
            ``structbo.acquisition.UCB(beta=4.0)``.
        maximizer: how the points are found where the criterion is largest, a name of
            `structbo.maximizers.MAXIMIZERS` such as "direct", or an instance such as
            ``structbo.maximizers.Direct(max_evaluations=500)``. By default, the maxima of message
            passing and other candidates are moved along coordinates and by gradient.
        batch: how several points are chosen at a time, a name of
            `structbo.batches.BATCH_STRATEGIES` such as "dpp_sample" or "local_penalization", or an
            instance such as ``structbo.batches.DPPSample(accuracy=0.01)``. By default, each counts
            the earlier ones as known: at their posterior means, without noise.
        sampler: draws the model's sites: a function from a model to a NumPyro kernel, such as
            `structbo.samplers.default_sampler`, `structbo.samplers.ParallelTempering` or
            `numpyro.infer.NUTS`.
        inference: the source of the draws that the criterion is averaged over: a function of a
            model and a seed, see `structbo.draws`. By default a Markov chain of the sampler, which
            an `Optimizer` continues from one call to the next.
        warp: whether values go through a power transform, `structbo.data.Warping`, which draws the
            bad ones together. Its power is learned beside the chain's draws: one, where the values
            are as the model expects them. Only with a Markov chain.
    """

    seed: int
    model: AdditiveGP | None
    num_initial: int | None
    criterion: str | Criterion
    maximizer: str | Maximizer
    batch: str | BatchStrategy
    sampler: Sampler
    inference: Inference | None
    warp: bool


DEFAULTS = Settings(
    seed=0,
    model=None,
    num_initial=None,
    criterion="log_ei",
    maximizer="multi_start",
    batch="believer",
    sampler=default_sampler,
    inference=None,
    warp=True,
)
"""The settings that are not given."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """All settings, checked, with instances in place of names; see `Settings`."""

    seed: int
    model: AdditiveGP
    num_initial: int
    criterion: Criterion
    maximizer: Maximizer
    batch: BatchStrategy
    sampler: Sampler
    inference: Inference | None
    warp: bool


def resolved(space: Space, settings: Settings) -> Method:
    """All settings for a space, with defaults for those that are not given.

    Raises:
        TypeError: if a name is not a setting, or a setting is of the wrong kind.
        ValueError: if one is out of range, or the name of an instance is unknown.
    """
    check_names(settings)
    given: dict[str, Any] = {**DEFAULTS, **settings}
    for name, function in (("sampler", given["sampler"]), ("inference", given["inference"])):
        is_default = name == "inference" and function is None
        if not (is_default or callable(function)):
            raise TypeError(f"{name} must be a function, got {function!r}.")
    seed, model, num_initial = given["seed"], given["model"], given["num_initial"]
    if model is None:
        model = default_model(space.categorical)
    else:
        check_model(model)
        check_run(model, space.num_dims)
    if num_initial is None:
        num_initial = int(np.clip(2 * space.num_dims, 4, 20))
    return Method(
        seed=checked_seed(seed),
        model=model,
        num_initial=checked_count("num_initial", num_initial, least=0),
        criterion=as_criterion(given["criterion"]),
        maximizer=as_maximizer(given["maximizer"]),
        batch=as_strategy(given["batch"]),
        sampler=given["sampler"],
        inference=given["inference"],
        warp=checked_bool("warp", given["warp"]),
    )


def check_names(settings: Settings) -> None:
    """Checks that all are settings.

    Raises:
        TypeError: if a name is not a setting.
    """
    for name in settings:
        if name not in DEFAULTS:
            raise TypeError(
                f"{name!r} is not a setting{did_you_mean(name, DEFAULTS)}; settings are "
                f"{', '.join(DEFAULTS)}, see structbo.Settings."
            )


def contradictions(space: Space, settings: Settings, method: Method) -> list[str]:
    """Names of the given settings that differ from those in use."""
    own = resolved(space, settings)
    return [name for name in settings if getattr(own, name) != getattr(method, name)]


KEYWORDS = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
    for (name, default), kind in zip(
        DEFAULTS.items(), Settings.__annotations__.values(), strict=True
    )
]
"""The settings as keyword arguments of a signature."""


def shows(keywords: Iterable[inspect.Parameter]) -> Callable[[Decorated], Decorated]:
    """Shows keyword arguments in the signature of a function that takes them as ``**settings``.

    Type checkers and editors read the typed dictionary; this is for `help` and notebooks.
    """

    def decorate(function: Decorated) -> Decorated:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        shown = signature.replace(parameters=[*own, *keywords])
        function.__signature__ = shown  # type: ignore[attr-defined]
        return function

    return decorate
