"""Groups of named arrays for ArviZ, in the container of ArviZ 0.23 or of ArviZ 1."""

from collections.abc import Mapping, Sequence
from typing import Any

from jax import Array
from numpy.typing import NDArray

from structbo.models import ConditionedGP
from structbo.posterior.draws import PosteriorDraws
from structbo.posterior.predictive import leave_one_out_densities, replicate
from structbo.posterior.prior import Keys, prior_draws
from structbo.posterior.structures import pair_labels

Names = Mapping[str, Sequence[str]]
TOGETHER = "structure_together"


def arviz_groups(posterior: PosteriorDraws, num_prior_draws: int, seed: int) -> Any:
    """All groups of `Posterior.to_arviz`."""
    y = posterior.y
    keys = Keys.of(seed)
    log_likelihood, replicated = (
        values[:, : len(y)].reshape(posterior.num_chains, -1, len(y))
        for values in posterior.map_draws(_of_observations, posterior.data.y, key=keys.predictive)
    )
    before, prior_y = prior_draws(posterior.model, posterior.data, keys.prior, num_prior_draws)
    prior = posterior.without_data(before)
    groups: dict[str, dict[str, Any]] = {
        "posterior": posterior.draws | _structures(posterior),
        "sample_stats": posterior.sample_stats | {"lp": posterior.log_density},
        "log_likelihood": {"y": log_likelihood},
        "posterior_predictive": {"y": replicated},
        "prior": prior.draws | _structures(prior),
        "prior_predictive": {"y": prior_y[:, :, : len(y)]},
        "observed_data": {"y": y},
    }
    _, pairs = posterior.structures.pairs_together()
    labels = {TOGETHER: pair_labels(posterior.directions, pairs)}
    return to_container(groups, *named(groups["posterior"], posterior.names, labels))


def _of_observations(gp: ConditionedGP, key: Array, y: Array) -> tuple[Array, Array]:
    return leave_one_out_densities(gp, y), replicate(gp, y, key)


def _structures(posterior: PosteriorDraws) -> dict[str, NDArray[Any]]:
    values = posterior.structures
    found = {f"structure_{name}": value for name, value in values._asdict().items()}
    return found | {TOGETHER: values.pairs_together()[0]}


def named(
    sites: Mapping[str, NDArray[Any]], names: Sequence[str], labels: Names
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Dimensions of sites, and their coordinates.

    Args:
        sites: values, each of shape (chains, draws, ...).
        names: of the D dimensions, for sites of shape (D,) and (D, D).
        labels: of the sites that list pairs of dimensions.

    Returns:
        The names of every site's dimensions, and the coordinates of every dimension.
    """
    size = len(names)
    known = {(size,): ["dim"], (size, size): ["dim", "dim_other"]}
    shapes = {name: value.shape[2:] for name, value in sites.items()}
    dims = {name: known[shape] for name, shape in shapes.items() if shape in known}
    coords = {"dim": list(names), "dim_other": list(names)}
    for site, pairs in labels.items():
        dim = "pair" if len(labels) == 1 else f"{site}_pair"
        dims[site], coords[dim] = [dim], list(pairs)
    return {**dims, "y": ["observation"]}, coords


def to_container(groups: Mapping[str, Mapping[str, Any]], dims: Names, coords: Names) -> Any:
    """Builds ArviZ's container: from nested groups in ArviZ 1, from keyword arguments before."""
    import arviz as az

    filled: dict[str, Any] = {name: dict(group) for name, group in groups.items() if group}
    if int(az.__version__.partition(".")[0]) >= 1:
        return az.from_dict(filled, dims=dims, coords=coords)
    return az.from_dict(**filled, dims=dims, coords=coords)
