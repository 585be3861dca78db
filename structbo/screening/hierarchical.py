"""Hierarchical Diagonal Sampling: finds active parameters by halving groups."""

import numbers
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float

from structbo.data import State
from structbo.models.foundation.arguments import check_positive, checked_bool
from structbo.screening.likelihood_ratio import Hypotheses, fit_hypotheses
from structbo.screening.screening import Screening
from structbo.space import SpaceLike

Decision = Literal["undetermined", "active", "inactive"]

NUM_REPEATS, NUM_DIAGONAL = 10, 10
"""Evaluations that estimate the noise, and evaluations that estimate the scale of the function."""
GRID = np.linspace(0.0, 1.0, 101)


@dataclass
class Group:
    """A node of the tree: parameters that move together.

    Args:
        members: indices of the parameters.
        names: their names.
        decision: "active" if at least one of them matters, "inactive" or "undetermined".
        evidence: log likelihood ratio of the active against the inactive hypothesis.
        evaluations: numbers of the trials made for this group, all with one background point.
        z: positions of these trials on the diagonal, in [0, 1].
        pairs: pairs of trial numbers that form finite differences.
        halves: the two children of an active group with several parameters.
    """

    members: tuple[int, ...]
    names: tuple[str, ...]
    decision: Decision = "undetermined"
    evidence: float = 0.0
    evaluations: list[int] = field(default_factory=list, repr=False)
    z: list[float] = field(default_factory=list, repr=False)
    pairs: list[tuple[int, int]] = field(default_factory=list, repr=False)
    halves: tuple["Group", ...] = ()

    def __iter__(self) -> Iterator["Group"]:
        """The group and all groups below it."""
        yield self
        for half in self.halves:
            yield from half

    def __str__(self) -> str:
        names = self.names if len(self.names) < 4 else (self.names[0], "...", self.names[-1])
        own = (
            f"{', '.join(names)} ({len(self.members)}): {self.decision}, "
            f"evidence {self.evidence:.1f} from {len(self.evaluations)} evaluations"
        )
        below = [f"  {line}" for half in self.halves for line in str(half).splitlines()]
        return "\n".join([own, *below])


class HierarchicalDiagonalSampling(Screening):
    """Hierarchical Diagonal Sampling (HDS): finds d of D parameters in about d log D tests.

    All parameters of a group get the same value, relative to their ranges; all others stay at a
    random background point. Along this diagonal, the function is constant if no parameter of the
    group is active. A sequential likelihood ratio test decides between the two. Active groups are
    halved until single parameters remain.

    The number of evaluations grows with log D. Parameters are missed if the function hardly varies
    along the diagonals, as functions of differences of parameters and functions that are flat
    nearly everywhere. Discrete parameters take the level nearest to the group's value.

    A point of a group that failed is not asked for again. If the background point fails more often
    than not, another random one takes its place, and open groups start again. A group stays
    undetermined if all its points failed, or all but one.

    Args:
        space: the search space, or what `Space` accepts.
        test: "GPT" models the correlations of all observations of a group, and places observations
            by an index of information; "FDT" treats differences of distant observations as
            independent, which costs about twice the evaluations and assumes less.
        budget: maximum number of evaluations.
        thresholds: a group is inactive when the log likelihood ratio falls to the first, active
            when it rises to the second. A wrong decision has a probability of about
            ``exp(-abs(threshold))``.
        noise: variance of the noise. By default it is estimated from repeated evaluations of the
            background point, and from all groups that are found to be inactive.
        outputscale: variance of the function along a diagonal. Parameters with much less variance
            count as inactive. By default half of an estimate from evaluations with all parameters
            in one group.
        bandwidth: bandwidth b of the squared exponential kernel ``exp(-(z - z')^2 / b^2)``, in
            units of the ranges, which is half the bandwidth on [-1, 1]. By default estimated; it
            has little influence.
        mean: prior mean of the function; by default unknown.
        as_printed: whether to use the paper's index and differences: the GPT chooses a group and a
            place by the next increment of the ratio alone, and the FDT takes differences over
            exactly three bandwidths, which must be less than the range.
        seed: seed of the background point and all other random choices; the same seed and values
            give the same points.

    Attributes:
        tree: the `Group` of all parameters, with its halves; prints as an indented table.
        hypotheses: the hypotheses on the function, or None until they are estimated.

    Warns:
        UserWarning: in `tell`, if several background points failed, or no group can be tested.

    References:
        Chen, Castro and Krause 2012, section 3 and algorithm 1. Their index of the GPT is the mean
        plus the standard deviation of the next observation's log likelihood ratio. Here, unless
        ``as_printed``, the current ratio is added, so that the next group is the one most likely to
        be active. Their FDT takes differences over three bandwidths; here this is the minimum
        distance of random pairs, which also detects functions smoother than the bandwidth.

    Example:
        >>> hds = HierarchicalDiagonalSampling([(0.0, 1.0)] * 64, seed=0)
        >>> hds.run(lambda params: np.sin(5 * params["x3"]) + params["x40"] ** 2)
        >>> hds.active
        ('x3', 'x40')

        An `Optimizer` with this first stage uses its evaluations, and its evidence as the prior of
        the active set:

        >>> from structbo import Optimizer
        >>> optimizer = Optimizer(hds.space, "minimize", screening=hds)
        >>> len(optimizer.trials) == len(hds.trials)
        True
    """

    def __init__(
        self,
        space: SpaceLike,
        test: Literal["GPT", "FDT"] = "GPT",
        *,
        budget: int = 1000,
        thresholds: tuple[float, float] = (-10.0, 10.0),
        noise: float | None = None,
        outputscale: float | None = None,
        bandwidth: float | None = None,
        mean: float | None = None,
        as_printed: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(space, budget, seed)
        if test not in ("GPT", "FDT"):
            raise ValueError(f'test must be "GPT" or "FDT", got {test!r}.')
        try:
            below, above = thresholds
            are_around_zero = below < 0.0 < above
        except (TypeError, ValueError):
            are_around_zero = False
        if not are_around_zero:
            raise ValueError(f"thresholds must be two numbers around zero, got {thresholds!r}.")
        known = {"outputscale": outputscale, "noise": noise, "bandwidth": bandwidth}
        for name, number in known.items():
            if number is not None:
                check_positive(name, number)
        if not (mean is None or (isinstance(mean, numbers.Real) and np.isfinite(mean))):
            raise ValueError(f"mean must be a finite number, got {mean!r}.")
        self._as_printed = checked_bool("as_printed", as_printed)
        self.test = test
        self.thresholds = thresholds
        self.hypotheses: Hypotheses | None = None
        self.tree = Group(tuple(range(self.space.num_dims)), self.space.names)
        self._known = known | {"mean": mean}
        self._purpose: list[Group | None] = []
        self._repeats: list[int] = []
        self._pair: tuple[Group, float] | None = None
        self._try_to_start()

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups of the tree, parents first."""
        return tuple(self.tree)

    @property
    def is_decided(self) -> bool:
        return not any(
            group.decision == "undetermined" and (self._can_vary(group) or self._needs_background)
            for group in self.tree
        )

    @property
    def active(self) -> tuple[str, ...]:
        return tuple(
            group.names[0]
            for group in self.tree
            if len(group.members) == 1 and group.decision == "active"
        )

    def active_probabilities(self, prior: float | None = None) -> Float[np.ndarray, " D"]:
        """The probability that a parameter is active.

        Combines the evidence of the smallest tested group of a parameter with the prior odds.

        Args:
            prior: prior probability that a parameter is active; by default ``(k + 1) / (D + 2)`` if
                k were found.

        Returns:
            Probabilities, clipped to [0.01, 0.99] so that an optimizer can revise them.
        """
        num_dims = self.space.num_dims
        p = (len(self.active) + 1) / (num_dims + 2) if prior is None else prior
        if not 0.0 < p < 1.0:
            raise ValueError(f"prior must be between 0 and 1, got {prior!r}.")
        probabilities = np.full(num_dims, p)
        for group in self.tree:
            if group.evaluations:
                some = 1.0 - (1.0 - p) ** len(group.members)
                odds = np.exp(min(group.evidence, 50.0)) * some / (1.0 - some)
                probabilities[list(group.members)] = odds / (1.0 + odds) * p / some
        return np.clip(probabilities, 0.01, 0.99)

    def __str__(self) -> str:
        return (
            f"{len(self.active)} of {self.space.num_dims} parameters active after "
            f"{len(self._trials)} evaluations: {', '.join(self.active)}\n{self.tree}"
        )

    def _next(self, rng: np.random.Generator) -> Float[np.ndarray, " D"]:
        group, z = self._choice(rng)
        self._purpose.append(group)
        if group is None:
            self._repeats.append(len(self._trials))
            return self.space.snap(self.background)
        group.evaluations.append(len(self._trials))
        group.z.append(z)
        return self._along(group.members, z)

    def _choice(self, rng: np.random.Generator) -> tuple[Group | None, float]:
        """The next group and the position on its diagonal; no group for the background point."""
        if self._pair is not None:
            (group, z), self._pair = self._pair, None
            # Without the first value, the second one makes no difference.
            is_possible = self._trials[-1].state in ("pending", "complete")
            if group.decision == "undetermined" and is_possible:
                group.pairs.append((len(self._trials) - 1, len(self._trials)))
                return group, z
        if self._needs_background:
            return None, 0.0
        if self.hypotheses is None:
            # The van der Corput sequence covers the diagonal evenly.
            first = len(self.tree.z) + 1
            sequence = [_van_der_corput(index) for index in range(first, first + len(GRID))]
            return self.tree, float(self._usable(self.tree, np.append(sequence, GRID))[0])
        groups = [g for g in self.tree if g.decision == "undetermined" and self._can_vary(g)]
        if self.test == "FDT":
            group = max(groups, key=lambda g: g.evidence)
            z, other = self._next_pair(group, rng)
            self._pair = group, other
            return group, z
        # A random order breaks ties at random, because argmax takes the first maximum.
        candidates = rng.permutation(GRID)
        places = [self._usable(group, candidates) for group in groups]
        bounds = [self._bound(*pair) for pair in zip(groups, places, strict=True)]
        best = max(range(len(bounds)), key=lambda g: bounds[g].max())
        return groups[best], float(places[best][np.argmax(bounds[best])])

    def _next_pair(self, group: Group, rng: np.random.Generator) -> tuple[float, float]:
        """Two positions to compare. Pairs are drawn until both positions can be evaluated."""
        assert self.hypotheses is not None
        tried = []
        for _ in GRID:
            pair = self.hypotheses.pair(rng, is_fixed=self._as_printed)
            if len(self._usable(group, np.array(pair))) == 2:
                return pair
            tried.append(pair)
        return tried[0]

    @property
    def _needs_background(self) -> bool:
        """Whether the background point is next: to estimate the noise, or to explain a failure."""
        if self.hypotheses is None and self._known["noise"] is None:
            wanted = NUM_REPEATS
        else:
            purposes = zip(self._purpose, self._trials, strict=True)
            below = (t for own, t in purposes if own is not None and own is not self.tree)
            wanted = int(any(t.state == "failed" for t in below))
        states = self._states(self._repeats)
        return states.count("pending") + states.count("complete") < wanted

    def _can_vary(self, group: Group) -> bool:
        """Whether different points of a group did not fail."""
        usable = self._usable(group, GRID)
        if len(usable) == len(GRID):
            return True
        points = self._along(group.members, usable)
        return bool((points != points[:1]).any())

    def _usable(self, group: Group, z: Float[np.ndarray, " m"]) -> Float[np.ndarray, " k"]:
        """The positions whose points did not fail; equal levels make equal points."""
        states = self._states(group.evaluations)
        failed = [own for own, state in zip(group.z, states, strict=True) if state == "failed"]
        if not failed:
            return z
        known = {point.tobytes() for point in self._along(group.members, failed)}
        points = self._along(group.members, z)
        return z[[point.tobytes() not in known for point in points]]

    def _states(self, trials: list[int]) -> list[State]:
        return [self._trials[number].state for number in trials]

    def _bound(self, group: Group, candidates: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
        """The index of the GPT: mean and deviation of the next ratio, or of its next increment."""
        assert self.hypotheses is not None
        z, y, unknown = self._observed(group)
        gain, deviation = self.hypotheses.of_next(z, y, candidates, unknown)
        return gain + deviation + (0.0 if self._as_printed else group.evidence)

    def _observed(
        self, group: Group
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Float[np.ndarray, " p"]]:
        """Positions of a group's values, the values, and positions of pending or failed trials."""
        values = [self._value(n) for n in group.evaluations]
        told = [(z, y) for z, y in zip(group.z, values, strict=True) if y is not None]
        states = self._states(group.evaluations)
        # Near a failure, other points are likely to fail.
        unknown = [z for z, s in zip(group.z, states, strict=True) if s in ("pending", "failed")]
        z, y = np.array(told).reshape(-1, 2).T
        return z, y, np.array(unknown)

    def _differences(self, group: Group) -> Float[np.ndarray, " n"]:
        """Finite differences of a group, from its complete pairs."""
        values = [(self._value(first), self._value(second)) for first, second in group.pairs]
        return np.array([a - b for a, b in values if a is not None and b is not None])

    def _note(self, number: int) -> None:
        group = self._purpose[number]
        if group is None:
            self._check_background()
        elif group is self.tree and group.decision == "undetermined" and not self._can_vary(group):
            warnings.warn(
                "the screening ends without a result: where all parameters move together, all "
                "points failed, or all but one. Check the objective there, or leave out screening.",
                stacklevel=3,
            )
        if self.hypotheses is None:
            self._try_to_start()
        elif group is not None:
            self._test(group)
            if group.decision == "inactive" and self._known["noise"] is None:
                self._learn_noise()

    def _check_background(self) -> None:
        """Replaces the background point if it fails more often than not."""
        states = self._states(self._repeats)
        if states.count("failed") <= states.count("complete"):
            return
        self._replace_background()
        self._repeats, self._pair = [], None
        for group in self.tree:
            # The diagonal of all parameters has no background.
            if group.decision == "undetermined" and group is not self.tree:
                group.evaluations, group.z, group.pairs, group.evidence = [], [], [], 0.0

    def _try_to_start(self) -> None:
        """Estimates unknown hyper-parameters as soon as there are enough values."""
        z, y, _ = self._observed(self.tree)
        repeats = self._repeated_values()
        needs_scale = any(self._known[name] is None for name in ("outputscale", "bandwidth"))
        wanted = NUM_DIAGONAL if needs_scale else int(self._known["mean"] is None)
        if len(y) < wanted or (self._known["noise"] is None and len(repeats) < NUM_REPEATS):
            return
        self.hypotheses = fit_hypotheses(z, y, repeats, **self._known)
        if self._trials:
            self._test(self.tree)

    def _repeated_values(self) -> list[float]:
        """Values of the background point."""
        values = [self._value(number) for number in self._repeats]
        return [value for value in values if value is not None]

    def _learn_noise(self) -> None:
        """Estimates the noise from all values of constants, and tests open groups again.

        The variance of ten repeats is often wrong by half. With too small a noise, inactive groups
        appear to be active. Single parameters that were found to be active may be open again.
        """
        assert self.hypotheses is not None
        inactive = [group for group in self.tree if group.decision == "inactive"]
        values = [self._observed(group)[1] for group in inactive]
        constants = [np.array(self._repeated_values()), *values]
        squares = sum(float(np.square(y - y.mean()).sum()) for y in constants if len(y))
        freedom = sum(len(y) - 1 for y in constants if len(y))
        self.hypotheses = self.hypotheses.with_noise(squares / freedom)
        for group in self.tree:
            if group.evaluations and group.decision != "inactive" and not group.halves:
                group.decision = "undetermined"
                self._test(group)

    def _test(self, group: Group) -> None:
        """Updates the evidence of a group, and decides if it suffices."""
        assert self.hypotheses is not None
        if self.test == "FDT":
            group.evidence = self.hypotheses.of_differences(self._differences(group))
        else:
            z, y, _ = self._observed(group)
            group.evidence = self.hypotheses.of_values(z, y)
        if group.decision != "undetermined":
            return
        if group.evidence <= self.thresholds[0]:
            group.decision = "inactive"
        elif group.evidence >= self.thresholds[1]:
            group.decision = "active"
            half = len(group.members) // 2
            if half:
                group.halves = tuple(
                    Group(group.members[part], group.names[part])
                    for part in (slice(None, half), slice(half, None))
                )


def _van_der_corput(index: int) -> float:
    """A number of the van der Corput sequence in base 2: the digits of its index, mirrored."""
    return sum(int(bit) / 2.0 ** (k + 1) for k, bit in enumerate(f"{index:b}"[::-1]))
