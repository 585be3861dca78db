"""The posterior: probabilities, predictions, effects, tables, exports to ArviZ and NetworkX."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Key

from structbo.data import padded
from structbo.models import ConditionedGP
from structbo.models.gp import Moments
from structbo.posterior.alike import choices_alike
from structbo.posterior.arviz import arviz_groups
from structbo.posterior.calibration import Calibration, posterior_calibration
from structbo.posterior.draws import PosteriorDraws, no_data
from structbo.posterior.effects import Effect, posterior_effects
from structbo.posterior.importances import (
    LEAST_SHARE,
    Importances,
    posterior_importances,
    posterior_interactions,
    posterior_triples,
)
from structbo.posterior.interactions import NUM_PRIOR_DRAWS, interaction_table, like_prior
from structbo.posterior.networkx import probability_graph
from structbo.posterior.prior import Keys, prior_draws
from structbo.posterior.runs_to_decide import Runs, posterior_runs
from structbo.posterior.structures import Probabilities, indicator_probabilities, symmetric
from structbo.posterior.summary import summary_table
from structbo.posterior.units import Description

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Posterior(PosteriorDraws):
    """Draws from the posterior of a model, and the quantities that follow from them.

    Predictions, effects and calibration are in the user's `units`. X is in the unit cube; y, draws,
    densities, importances and the export to ArviZ are on the scale of the model. If the search
    warped values, ``units.transform`` is the warp.

    Args:
        model: a NumPyro model, ``model(X, y=None, mask=None)``, with one `MarginalGP`.
        X: points of the unit cube, shape (n, D); with no points, the posterior is the prior.
        y: observations, on the scale of the model, shape (n,).
        draws: values of all latent sites, each of shape (chains, draws, ...).
        sample_stats: statistics of the sampler, each of shape (chains, draws, ...).
        names: names of the D dimensions; by default the columns of a DataFrame, or x0, x1, ...
        units: units of points and values in predictions and effects, by default the units of X and
            y. The posterior of an `Optimizer` has the units of its space and of its observations.
        sem: known standard errors of y, on its scale, shape (n,); see `fit`.

    Raises:
        TypeError: if the model is not a NumPyro model, or draws are not a dict.
        ValueError: if shapes or indices do not match, X leaves the unit cube, a value or a standard
            error is not finite, draws lack a latent site, or names of units differ.
    """

    def edge_probabilities(self) -> Probabilities:
        """Posterior probability of every edge, with Monte Carlo errors, shape (D, D).

        This is the posterior of the site of edge matrices. In `anova_model` an edge is an
        interaction of any size. The product of two kernels that are not `Centered` contains main
        effects, so an edge of other models may stand for those, and an interaction may be in the
        residual: `interaction_probabilities` tells whether two parameters interact.

        Raises:
            ValueError: if the model does not have exactly one site of edge matrices, or is a
                mixture: edges of one family follow their prior in draws of the others.
        """
        edges, pairs = self.edges()
        ends = self.ends_of(self.edge_sites[0])
        return symmetric(indicator_probabilities(edges), pairs, ends)

    def together_probabilities(self) -> Probabilities:
        """Posterior probability that two dimensions share a component, shape (D, D).

        The structure may be of any kind: edges, blocks, active sets. With a projection, dimensions
        are its directions. The residual component is ignored.
        """
        together, pairs = self.structures.pairs_together()
        return symmetric(indicator_probabilities(together), pairs, self.directions)

    def interaction_probabilities(
        self, least_share: float = LEAST_SHARE, *, max_draws: int = 64, seed: int = 0
    ) -> Probabilities:
        """Posterior probability that the interaction of two parameters matters, shape (D, D).

        An interaction matters if its share of the variance, ``importances().pairs``, is at least
        ``least_share``. The share is without main effects, for any model and kernel. An edge of
        `edge_probabilities` may stand for main effects, which the product of two kernels contains
        unless they are `Centered`: where the data do not tell the two apart, this probability is
        the one to read.

        Args:
            least_share: of the variance of the function, in (0, 1).
            max_draws: how many draws to use; more are thinned evenly.
            seed: seed of the drawn functions.

        Returns:
            Fractions of the draws of `importances` with the same arguments, symmetric with a zero
            diagonal, and their Monte Carlo errors.

        Raises:
            ValueError: if the model has a projection, least_share is not in (0, 1), or max_draws is
                not positive.

        Example:
            >>> from structbo.models import AdditiveGP
            >>> draws = {"Z": 1 - np.eye(2), "lengthscale": np.ones(2), "outputscale": 1.0}
            >>> posterior = Posterior.at(AdditiveGP(), [[0.1, 0.2]], [0.3], draws | {"noise": 1.0})
            >>> posterior.interaction_probabilities(1e-9).mean.tolist()
            [[0.0, 1.0], [1.0, 0.0]]
        """
        return posterior_interactions(self, max_draws, seed, least_share)

    def interactions(
        self, *, least_share: float = LEAST_SHARE, max_draws: int = 64, seed: int = 0
    ) -> "pd.DataFrame":
        """A table of what is known about every pair of parameters.

        The verdict is ``found`` if the lower end of the 90 % interval of the pair's share is at
        least ``least_share``, ``none`` if the upper end is below, and ``undecided`` otherwise. It
        is ``unknown`` in place of ``undecided`` if the data say nothing: the distribution of the
        share is the prior's.

        Args:
            least_share: share of the variance from which a pair matters, in (0, 1).
            max_draws: how many draws to use; more are thinned evenly.
            seed: seed of the drawn functions.

        Returns:
            A row for each pair, the largest share first. The columns are the ``share`` of the
            variance of the function, as in ``importances().pairs``; the ends ``lower`` and
            ``upper`` of its 90 % interval; the ``probability`` that it is at least ``least_share``,
            and this probability ``prior`` to the data; and the ``verdict``.

        Raises:
            ValueError: if the model has a projection, least_share is not in (0, 1), or max_draws is
                not positive.

        Example:
            >>> from structbo.models import AdditiveGP
            >>> draws = {"Z": 1 - np.eye(2), "lengthscale": np.ones(2), "outputscale": 1.0}
            >>> posterior = Posterior.at(AdditiveGP(), [[0.1, 0.2]], [0.3], draws | {"noise": 1.0})
            >>> posterior.interactions(least_share=1e-9)["verdict"].to_dict()
            {'x0,x1': 'found'}
        """
        prior = self.prior(num_draws=NUM_PRIOR_DRAWS, seed=seed)
        return interaction_table(self, prior, max_draws, seed, least_share)

    def like_prior(self, *, max_draws: int = 64, seed: int = 0) -> Bool[np.ndarray, "D D"]:
        """Pairs of parameters about which the data say nothing.

        The posterior of the share of such a pair is its prior: the two cumulative distribution
        functions differ by at most 0.2.

        Args:
            max_draws: how many draws to use; more are thinned evenly.
            seed: seed of the drawn functions.

        Returns:
            A symmetric matrix with a false diagonal.

        Raises:
            ValueError: if the model has a projection, or max_draws is not positive.
        """
        prior = self.prior(num_draws=NUM_PRIOR_DRAWS, seed=seed)
        return like_prior(self, prior, max_draws, seed)

    def runs_to_decide(
        self,
        first: str,
        second: str,
        *,
        probability: float = 0.9,
        least_share: float = LEAST_SHARE,
        max_draws: int = 64,
        seed: int = 0,
    ) -> Runs:
        """How many more runs are needed to decide whether two parameters interact.

        Each draw of the posterior is the truth in turn. Its opponent is the same draw with the edge
        switched on or off. The expected evidence of future runs for the truth, in nats, is the
        divergence between the two predictions of these runs. The runs are spread evenly over the
        space, and have the noise of the model and the median of the known standard errors. As many
        are needed as raise the odds from the posterior's to ``probability``.

        Draws whose pair would matter too little are left out. The opponent keeps the other
        hyper-parameters, which future runs teach, too. So the numbers are a guide to the size of an
        experiment.

        Args:
            first: name of a parameter.
            second: name of the other one.
            probability: of the interaction or of its absence, in (0.5, 1).
            least_share: share of the variance from which the pair matters, in (0, 1).
            max_draws: number of draws to use; more are thinned evenly.
            seed: seed of the future runs.

        Returns:
            The median and a 90 % interval over the draws: zero for draws that are decided,
            infinite if no number of runs suffices.

        Raises:
            ValueError: if the model does not have exactly one site of edge matrices, the names are
                not two parameters, or a number is out of range.

        References:
            Good 1979, "Studies in the history of probability and statistics XXXVII: A. M. Turing's
            statistical work in World War II", for the expected weight of evidence.
        """
        return posterior_runs(self, (first, second), probability, least_share, max_draws, seed)

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
            raise ValueError("the structure of the model is not a mixture, so it has no families.")
        return self.families

    def prior(self, *, num_draws: int = 1000, seed: int = 0) -> "Posterior":
        """The prior of the same model, with the same methods.

        Args:
            num_draws: how many draws to try; draws outside the structure's hard bounds, where the
                likelihood is zero, are discarded.
            seed: seed of the draws.

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
        Labels of a partition are replaced by ``together[a,b]``, which tells whether two dimensions
        share a block, since labels are arbitrary. The same holds for the structures of a mixture,
        whose families are listed by name. A quantity that never changed, for which ArviZ has no
        R-hat, gets R-hat 1 and the smallest effective sample size of the others, at most the number
        of draws. R-hat is NaN with one chain, and infinite if every chain is constant and the
        chains disagree. The labels of events, whose means are probabilities, are the table's
        ``attrs["events"]``. A note below the table tells the number of inducing points, if any
        (see `num_inducing`).
        """
        return summary_table(self)

    def predict(
        self, points: Any, *, max_draws: int = 64
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Mean and variance of the function, averaged over draws by the law of total variance.

        Args:
            points: dicts by name, a DataFrame, or an array (m, D), in the user's `units`.
            max_draws: how many draws to average over; more are thinned evenly.

        Returns:
            Both at every point, in the user's units. The variance of values around 1e154 and more
            is infinite; `describe` has their standard deviation.

        Raises:
            TypeError, ValueError: naming the point and the parameter at fault.
        """
        mean, deviation = self.units.moments(*self._normals(points, max_draws))
        with np.errstate(over="ignore"):
            return mean, np.square(deviation)

    def describe(self, points: Any, *, max_draws: int = 64) -> Description:
        """Mean, standard deviation and 90 % interval of the function at points.

        The ends of the interval are quantiles of a normal on the scale of the model, whose mean and
        variance are averaged over draws by the law of total variance.

        Args:
            points: dicts by name, a DataFrame, or an array (m, D), in the user's `units`.
            max_draws: number of draws to average over; more are thinned evenly.

        Returns:
            All four at every point, in the user's units.

        Raises:
            TypeError, ValueError: naming the point and the parameter at fault.
        """
        return self.units.description(*self._normals(points, max_draws))

    def _normals(
        self, points: Any, max_draws: int
    ) -> tuple[Float[np.ndarray, "S m"], Float[np.ndarray, "S m"]]:
        """Means and variances of the function by draws, on the scale of the model."""
        coordinates = self.units.coordinates(points)
        found = self.map_draws(_predict, padded(coordinates), max_draws=max_draws)
        means, variances = (np.asarray(value)[:, : len(coordinates)] for value in found)
        return means, variances

    def effect(
        self, names: str | Sequence[str], *, num_points: int = 33, max_draws: int = 64
    ) -> Effect:
        """The average of the function over all parameters but one or two.

        The other parameters are uniform on the space (log-uniform on a logarithmic scale, choices
        equally probable), as in the functional analysis of variance. So effects do not depend on
        how components divide their common variation, which data cannot determine. Without a space,
        a category has its observed choices. Warped values are averaged on the scale of the model,
        and the average is mapped back, as in a geometric mean.

        Args:
            names: names of the one or two parameters.
            num_points: points per parameter, at most its number of values; a category is evaluated
                at all its choices.
            max_draws: how many draws to average over; more are thinned evenly.

        Returns:
            The mean and the deviation, averaged over draws by the law of total variance, and a 90 %
            interval, in the user's `units`.

        Raises:
            ValueError: if a name is unknown or the model has a projection.
            TypeError: if names is not a collection of strings.
        """
        which = (names,) if isinstance(names, str) else names
        if not isinstance(which, Iterable):
            raise TypeError(f"names must be one or two names of parameters, got {names!r}.")
        return posterior_effects(self, (tuple(which),), num_points, max_draws)[0]

    def alike(self, name: str) -> "pd.DataFrame":
        """How alike the choices of a category are, averaged over draws.

        The number of two choices is ``1 - d / average of d``, with the expected squared difference
        d between the function's values at the two, all else equal. It is one if they are alike,
        zero if they differ as much as two choices on average, and negative if they differ more. It
        is zero for all unless the kernel learns correlations, such as `LevelCorrelations`.

        Args:
            name: name of a categorical parameter.

        Returns:
            A symmetric table with a row and a column for each choice, with ones on the diagonal.

        Raises:
            ValueError: if no category has the name, it has one choice, or the model has a
                projection.
        """
        return choices_alike(self, name)

    def main_effects(self, *, num_points: int = 33, max_draws: int = 64) -> tuple[Effect, ...]:
        """The `effect` of every parameter, all in one pass over the draws."""
        return posterior_effects(self, [(name,) for name in self.names], num_points, max_draws)

    def importances(
        self, *, max_draws: int = 64, seed: int = 0, least_share: float = LEAST_SHARE
    ) -> Importances:
        """Shares of the variance of the function: of single parameters, of pairs, and in total.

        The function is the model's, on the warped scale if the search warped values. Parameters are
        independent and uniform on the unit cube; without a space, categorical ones are uniform on
        their observed levels. One function is drawn per draw of the structure and hyper-parameters,
        so intervals include the uncertainty of both. With 19 draws or fewer an interval spans all
        draws.

        Terms of one and two parameters are as precise as the quadrature. Terms of three and more
        are evaluated at quasi-random points, to about 10 % for a single function; errors of
        different functions are independent and average out.

        Args:
            max_draws: how many draws to use; more are thinned evenly.
            seed: seed of the drawn functions.
            least_share: share from which a term matters, in (0, 1); see `Shares`.

        Raises:
            ValueError: if the model has a projection, max_draws is not positive, or least_share is
                not in (0, 1).

        References:
            Sobol 2001, "Global sensitivity indices for nonlinear mathematical models and their
            Monte Carlo estimates"; Oakley and O'Hagan 2004, "Probabilistic sensitivity analysis of
            complex models"; Le Gratiet, Cannamela and Iooss 2014, "A Bayesian approach for global
            sensitivity analysis of (multifidelity) computer codes", for indices of drawn functions.

        Example:
            >>> from structbo.models import AdditiveGP
            >>> draws = {"Z": 1 - np.eye(2), "lengthscale": np.ones(2), "outputscale": 1.0}
            >>> posterior = Posterior.at(AdditiveGP(), [[0.1, 0.2]], [0.3], draws | {"noise": 1.0})
            >>> table = posterior.importances().to_frame()
            >>> float(table.loc[["first_order", "pair"], "mean"].sum().round(6))
            1.0
        """
        return posterior_importances(self, max_draws, seed, least_share)

    def triples(
        self, *, max_draws: int = 64, seed: int = 0, least_share: float = LEAST_SHARE
    ) -> "pd.DataFrame":
        """Shares of the variance that are due to interactions of three parameters.

        They are parts of ``importances().higher_order``, without the pairs and main effects of the
        three. A share is evaluated at quasi-random points, to about 10 % for a single function.

        Args:
            max_draws: how many draws to use; more are thinned evenly.
            seed: seed of the drawn functions.
            least_share: share from which a triple matters, in (0, 1).

        Returns:
            A row for each triple, the largest mean first, with the columns of `Shares`.

        Raises:
            ValueError: if the model has a projection, there are more than 23 parameters, max_draws
                is not positive, or least_share is not in (0, 1).
        """
        return posterior_triples(self, max_draws, seed, least_share)

    def calibration(self) -> Calibration:
        """Predictions of every observation from all others, to check the model.

        Given a draw the predictions are exact, unless there are inducing points. The draws
        themselves are conditioned on all observations; importance weights correct for that. A small
        number of `Calibration.effective_draws` marks an observation with too much influence to
        correct for.

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
        """The posterior in ArviZ's format, with all groups that its functions need.

        Observations and their replications are on the scale of the model.

        The groups are posterior, structure, sample_stats, log_likelihood, posterior_predictive,
        prior, prior_structure, prior_predictive and observed_data. Sites of shape (D,) and (D, D)
        have the dimensions ``dim`` and ``dim_other``, with the names as coordinates. A single site
        of edge matrices becomes the variable ``edge``, which lists every pair of dimensions once,
        with the coordinate ``pair``; several such sites keep their names. The groups structure and
        prior_structure hold the properties in `structures`, with ``together`` listed by pair. All
        draws are floats, 0 and 1 for events: ArviZ cannot rank integers that never change.
        `log_density` is ``lp`` in sample_stats.

        The observations are dependent, so ``log_likelihood`` holds the leave-one-out densities
        ``log p(y_i | y_-i, theta)`` that `arviz.loo` needs. Posterior predictive observations
        replicate the evaluations of the *same* function at X, once per draw. Prior draws outside
        the structure's hard bounds, where the likelihood is zero, are discarded.

        Args:
            num_prior_draws: how many draws from the prior to try.
            seed: seed of the prior draws and the predictive observations.

        Returns:
            An `arviz.InferenceData` (ArviZ 0.23) or an `xarray.DataTree` (ArviZ 1).

        References:
            Rasmussen and Williams 2006, eq. (5.10)-(5.12); Buerkner, Gabry and Vehtari 2021,
            "Efficient leave-one-out cross-validation for Bayesian non-factorized normal and
            Student-t models".
        """
        return arviz_groups(self, num_prior_draws, seed)

    def to_networkx(
        self, *, threshold: float = 0.0, importances: Importances | None = None
    ) -> "nx.Graph":
        """The graph of dimensions that share a component, for NetworkX.

        Nodes are named after the dimensions, or the directions of a projection. The attribute
        ``probability`` comes from `active_probabilities` for nodes and from
        `together_probabilities` for edges; ``mcse`` is its Monte Carlo standard error. With
        importances, edges also have the ``share`` of the variance of their pair, the ends ``lower``
        and ``upper`` of its 90 % interval, and the probability ``matters`` that it is not too small
        to matter.

        Args:
            threshold: in [0, 1]; only pairs with a higher probability are joined.
            importances: of the same parameters, `Posterior.importances`.

        Returns:
            An undirected graph with attributes of type float.

        Raises:
            ValueError: if the threshold is not in [0, 1], or importances are of other parameters.

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
            self.directions,
            self.active_probabilities(),
            self.together_probabilities(),
            threshold,
            importances,
        )


def _predict(gp: ConditionedGP, key: Key[Array, ""], x: Float[Array, "m D"]) -> Moments:
    return gp.predict(x)
