"""The posterior: probabilities, predictions, effects, tables, exports to ArviZ and NetworkX."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import Array

from structbo.data import padded
from structbo.models import ConditionedGP
from structbo.models.foundation.arrays import FloatArray
from structbo.posterior.arviz import arviz_groups
from structbo.posterior.calibration import Calibration, posterior_calibration
from structbo.posterior.draws import PosteriorDraws, no_data
from structbo.posterior.effects import Effect, posterior_effects
from structbo.posterior.importances import Importances, posterior_importances
from structbo.posterior.networkx import probability_graph
from structbo.posterior.prior import Keys, prior_draws
from structbo.posterior.structures import Probabilities, indicator_probabilities, symmetric
from structbo.posterior.summary import summary_table

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Posterior(PosteriorDraws):
    """Draws from the posterior of a model, and the quantities that follow from them.

    Predictions, effects and calibration are in the user's `units`. All else is on the scale of the
    model: X in the unit cube, y as its priors expect it, draws, densities, importances, and the
    export to ArviZ. If the search warped values, ``units.transform`` is the warp.

    Args:
        model: a NumPyro model, ``model(X, y=None, mask=None)``, with one `MarginalGP`.
        X: points of the unit cube, shape (n, D); with no points, the posterior is the prior.
        y: observations, on the scale that the model saw, shape (n,).
        draws: values of all latent sites, each of shape (chains, draws, ...).
        sample_stats: statistics of the sampler, each of shape (chains, draws, ...).
        names: of the D dimensions; by default the columns of a DataFrame, or x0, x1, ...
        units: of points and values in predictions and effects. A posterior of an `Optimizer` has
            its space, and values as they were told; by default, units are those of X and y.
        sem: standard errors of y, on its scale, shape (n,), if they are known; see `fit`.

    Raises:
        TypeError: if the model cannot be called as one, or draws are no dict.
        ValueError: if shapes or indices do not match, X leaves the unit cube, a value or a standard
            error is not finite, draws lack a latent site, or units have other names.
    """

    def edge_probabilities(self) -> Probabilities:
        """Posterior probability of every edge, with Monte Carlo errors, shape (D, D).

        Raises:
            ValueError: if the model has no site of edge matrices, or several, or is a mixture:
                edges of one family follow their prior in draws of the others.
        """
        edges, pairs = self.edges()
        return symmetric(indicator_probabilities(edges), pairs, self.names)

    def together_probabilities(self) -> Probabilities:
        """Posterior probability that two dimensions share a component, shape (D, D).

        Components may be edges, blocks, active sets or of any other structure. With a projection,
        dimensions are its directions. The residual does not count.
        """
        together, pairs = self.structures.pairs_together()
        return symmetric(indicator_probabilities(together), pairs, self.directions)

    def active_probabilities(self) -> Probabilities:
        """Posterior probability that a dimension is in some component, shape (D,)."""
        return indicator_probabilities(self.structures.active, self.directions)

    def family_probabilities(self) -> Probabilities:
        """Posterior probability of every family of a mixture, in the order of `family_names`.

        Raises:
            ValueError: if the model's structure is not a mixture.
        """
        site, names = self._mixture
        is_family = self.draws[site][..., None] == np.arange(len(names))
        return indicator_probabilities(is_family, names)

    @property
    def family_names(self) -> tuple[str, ...]:
        """The names of the families of a mixture.

        Raises:
            ValueError: if the model's structure is not a mixture.
        """
        return self._mixture[1]

    @property
    def _mixture(self) -> tuple[str, tuple[str, ...]]:
        if self.families is None:
            raise ValueError("the model has no site of families: its structure is not a mixture.")
        return self.families

    def prior(self, *, num_draws: int = 1000, seed: int = 0) -> "Posterior":
        """The prior of the same model, with the same methods.

        Args:
            num_draws: how many draws to try; those outside the structure's hard bounds, where the
                likelihood is zero, are left out.
            seed: for the draws.

        Raises:
            ValueError: if all draws are outside of the bounds.

        Example:
            >>> from structbo.models import AdditiveGP, edges
            >>> draws = {"Z": np.ones((1, 2, 2, 2)) - np.eye(2), "lengthscale": np.ones((1, 2, 2))}
            >>> draws |= {"outputscale": np.ones((1, 2)), "noise": np.ones((1, 2))}
            >>> posterior = Posterior(AdditiveGP(edges(0.25)), [[0.1, 0.2]], [0.3], draws)
            >>> prior = posterior.prior().edge_probabilities().mean[0, 1]
            >>> bool(abs(prior - 0.25) < 0.06), float(posterior.edge_probabilities().mean[0, 1])
            (True, 1.0)
        """
        points = no_data(len(self.names))
        values, y = prior_draws(self.model, points, Keys.of(seed).prior, num_draws)
        if y.shape[1] == 0:
            raise ValueError(
                f"all {num_draws} prior draws are outside of the structure's hard bounds: raise "
                "num_draws, or make the prior sparser."
            )
        return self.without_data(values)

    def summary(self) -> "pd.DataFrame":
        """ArviZ's table of means, intervals, Monte Carlo errors, effective sizes and R-hat.

        Printed, it shows all columns, with three digits.

        Edges are listed once, as ``Z[a,b]``, with the Monte Carlo error of `edge_probabilities`.
        The labels of a partition mean nothing one by one: instead of them, ``together[a,b]`` tells
        whether two dimensions are in the same block. The same holds for the structures of a
        mixture, whose families are listed by name.
        ArviZ has no R-hat for a quantity that never changed. It gets R-hat 1 and the smallest
        effective sample size of the others, at most the number of draws. With one chain R-hat is
        NaN; where every chain is constant and the chains disagree, it is infinite.
        Below the table it is said if there are inducing points, see `num_inducing`.
        """
        return summary_table(self)

    def predict(self, points: Any, *, max_draws: int = 64) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the function, averaged over draws by the law of total variance.

        Args:
            points: dicts by name, a DataFrame, or an array (m, D), in the user's `units`.
            max_draws: how many draws to average over; more are thinned evenly.

        Returns:
            Two arrays of shape (m,), in the user's units.

        Raises:
            TypeError, ValueError: naming the point and the parameter at fault.
        """
        coordinates = self.units.coordinates(points)
        found = self.map_draws(_predict, padded(coordinates), max_draws=max_draws)
        mean, variance = (np.asarray(value)[:, : len(coordinates)] for value in found)
        return self.units.moments(mean, variance)

    def effect(
        self, names: str | Sequence[str], *, num_points: int = 33, max_draws: int = 64
    ) -> Effect:
        """The average of the function over all parameters but one or two.

        The others are uniform on the space, in the logarithm where that is their scale, as in the
        functional analysis of variance; choices count alike. So effects do not depend on how
        components divide the variation that they have in common, which data cannot determine.
        Without a space, the choices of a category are those observed. Warped values are averaged on
        the scale of the model, and the average is mapped back, as in a geometric mean.

        Args:
            names: of the one or two parameters.
            num_points: per parameter, if it has so many values; a category has all of its own.
            max_draws: how many draws to average over; more are thinned evenly.

        Returns:
            The mean and the deviation, averaged over draws by the law of total variance, and a 90 %
            interval, in the user's `units`.

        Raises:
            ValueError: if a name is unknown or the model has a projection.
            TypeError: if names are none.
        """
        which = (names,) if isinstance(names, str) else names
        if not isinstance(which, Iterable):
            raise TypeError(f"names must be one or two names of parameters, got {names!r}.")
        return posterior_effects(self, (tuple(which),), num_points, max_draws)[0]

    def main_effects(self, *, num_points: int = 33, max_draws: int = 64) -> tuple[Effect, ...]:
        """The `effect` of every parameter, all in one pass over the draws."""
        return posterior_effects(self, [(name,) for name in self.names], num_points, max_draws)

    def importances(self, *, max_draws: int = 64, seed: int = 0) -> Importances:
        """Shares of the variance of the function: of single parameters, of pairs, and in total.

        The function is that of the model, of warped values if the search warped them. Parameters
        are independent and uniform on the unit cube, categorical ones on the levels that were
        observed. One function is drawn from every draw of the structure and hyper-parameters,
        so the intervals are about functions as well as structures. Quantiles need draws: with 19
        the interval reaches from the least to the largest.

        Terms of one and two parameters are as precise as the quadrature. Those of three and more
        are evaluated at quasi-random points, and of a single function known to about 10 %; errors
        of different functions are independent, and average out.

        Args:
            max_draws: how many draws to use; more are thinned evenly.
            seed: for the functions.

        Raises:
            ValueError: if the model has a projection, or max_draws is not positive.

        References:
            Sobol 2001, "Global sensitivity indices for nonlinear mathematical models and their
            Monte Carlo estimates"; Oakley and O'Hagan 2004, "Probabilistic sensitivity analysis of
            complex models"; Le Gratiet, Cannamela and Iooss 2014, "A Bayesian approach for global
            sensitivity analysis of (multifidelity) computer codes", for those of drawn functions.

        Example:
            >>> from structbo.models import AdditiveGP
            >>> draws = {"Z": 1 - np.eye(2), "lengthscale": np.ones(2), "outputscale": 1.0}
            >>> posterior = Posterior.at(AdditiveGP(), [[0.1, 0.2]], [0.3], draws | {"noise": 1.0})
            >>> table = posterior.importances().to_frame()
            >>> float(table.loc[["first_order", "pair"], "mean"].sum().round(6))
            1.0
        """
        return posterior_importances(self, max_draws, seed)

    def calibration(self) -> Calibration:
        """Predictions of every observation from all others: can the process be trusted?

        For every draw these are exact, but for inducing points if there are any. The draws were
        conditioned on the observation left out, too; importance weights correct for that. Where
        `Calibration.effective_draws` are few, an observation changes what is believed so much that
        they cannot.

        Returns:
            The predictions, in the user's units.

        Raises:
            ValueError: if there are fewer than two observations.

        References:
            Rasmussen and Williams 2006, eq. (5.12); Gelfand, Dey and Chang 1992, "Model
            determination using predictive distributions with implementation via sampling-based
            methods", for the weights.
        """
        return posterior_calibration(self)

    def to_arviz(self, *, num_prior_draws: int = 500, seed: int = 0) -> Any:
        """The posterior in the format of ArviZ, with all that its functions need.

        Observations and their replications are on the scale of `y`, that of the model.

        The groups are posterior, structure, sample_stats, log_likelihood, posterior_predictive,
        prior, prior_structure, prior_predictive and observed_data. Sites of shape (D,) and (D, D)
        have the dimensions ``dim`` and ``dim_other``, with the names as coordinates. The model's
        site of edge matrices is the variable ``edge``, which lists every pair of dimensions once,
        with the coordinate ``pair``; of several such sites, each keeps its name. The properties in
        `structures`, which follow from the sites, are in structure and prior_structure, where
        ``together`` lists pairs, too. All draws are floats, 0 and 1 for events: ArviZ cannot rank
        integers that never change. `log_density` is in sample_stats, as ``lp``.

        The observations are dependent, so ``log_likelihood`` holds the leave-one-out densities
        ``log p(y_i | y_-i, theta)``, which `arviz.loo` needs. Posterior predictive observations
        repeat the evaluations of the *same* function at X: one repetition per draw. Prior draws
        outside the structure's hard bounds, where the likelihood is zero, are left out.

        Args:
            num_prior_draws: how many draws from the prior to try.
            seed: for the draws from the prior and for the predictive observations.

        Returns:
            An `arviz.InferenceData` (ArviZ 0.23) or an `xarray.DataTree` (ArviZ 1).

        References:
            Rasmussen and Williams 2006, eq. (5.10)-(5.12); Buerkner, Gabry and Vehtari 2021,
            "Efficient leave-one-out cross-validation for Bayesian non-factorized normal and
            Student-t models".
        """
        return arviz_groups(self, num_prior_draws, seed)

    def to_networkx(self, *, threshold: float = 0.0) -> "nx.Graph":
        """The graph of dimensions that share a component, for NetworkX.

        Nodes are the names of the dimensions; with a projection, of its directions. Their
        ``probability`` is that of `active_probabilities`, and an edge's that of
        `together_probabilities`; ``mcse`` is its Monte Carlo standard error.

        Args:
            threshold: in [0, 1]; only pairs of a higher probability are joined.

        Returns:
            An undirected graph, whose attributes are plain floats.

        Raises:
            ValueError: if the threshold is not in [0, 1].

        Example:
            >>> import networkx as nx
            >>> from structbo.models import AdditiveGP
            >>> draws = {"Z": 1 - np.eye(2), "lengthscale": np.ones(2), "outputscale": 1.0}
            >>> posterior = Posterior.at(AdditiveGP(), [[0.1, 0.2]], [0.3], draws | {"noise": 1.0})
            >>> graph = posterior.to_networkx(threshold=0.5)
            >>> graph.edges["x0", "x1"]["probability"], nx.is_chordal(graph)
            (1.0, True)
        """
        return probability_graph(
            self.directions, self.active_probabilities(), self.together_probabilities(), threshold
        )


def _predict(gp: ConditionedGP, key: Array, x: Array) -> tuple[Array, Array]:
    return gp.predict(x)
