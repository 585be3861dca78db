"""Groups of named arrays for ArviZ, in the container of ArviZ 0.23 or of ArviZ 1."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax import Array
from jaxtyping import Float, Key, Shaped

from structbo.models import MarginalGP
from structbo.models.foundation.arrays import AnyArray
from structbo.models.strengths import PAIR_SITE
from structbo.posterior.draws import PosteriorDraws
from structbo.posterior.predictive import leave_one_out_densities, replicate
from structbo.posterior.prior import Keys, prior_draws
from structbo.posterior.structures import labels_of_pairs

Names = Mapping[str, Sequence[str]]


def arviz_groups(posterior: PosteriorDraws, num_prior_draws: int, seed: int) -> Any:
    """All groups of `Posterior.to_arviz`."""
    y = posterior.y
    keys = Keys.of(seed)
    log_likelihood, replicated = (
        values.reshape(posterior.num_chains, -1, len(y))
        for values in posterior.map_observations(_of_observations, key=keys.predictive)
    )
    before, prior_y = prior_draws(posterior.model, posterior.data, keys.prior, num_prior_draws)
    prior = posterior.without_data(before)
    sites, structures = _sites(posterior), _structures(posterior)
    groups: dict[str, dict[str, Any]] = {
        "posterior": sites,
        "structure": structures,
        "sample_stats": posterior.sample_stats | {"lp": posterior.log_density},
        "log_likelihood": {"y": log_likelihood},
        "posterior_predictive": {"y": replicated},
        "prior": _sites(prior),
        "prior_structure": _structures(prior),
        "prior_predictive": {"y": prior_y[:, :, posterior.rows]},
        "observed_data": {"y": y},
    }
    edges = _edge_names(posterior).items()
    labels = {name: labels_of_pairs(posterior.ends_of(site)) for site, name in edges}
    labels["together"] = labels_of_pairs(posterior.directions)
    if PAIR_SITE in sites:
        labels[PAIR_SITE] = labels_of_pairs(posterior.names)
    return to_container(groups, *named(sites | structures, posterior.names, labels))


def _of_observations(
    likelihood: MarginalGP, key: Key[Array, ""], y: Float[Array, " n"]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    return leave_one_out_densities(likelihood, y), replicate(likelihood, y, key)


def _sites(posterior: PosteriorDraws) -> dict[str, Float[np.ndarray, "chains draws ..."]]:
    """The draws of all sites, with every edge once."""
    edges, found = _edge_names(posterior), {}
    for site, value in posterior.draws.items():
        upper = np.triu_indices(value.shape[-1], 1) if site in edges else ()
        found[edges.get(site, site)] = _floats(value[:, :, *upper])
    return found


def _edge_names(posterior: PosteriorDraws) -> dict[str, str]:
    """Variable names for sites of edge matrices: ``edge`` if there is one, else the site's."""
    sites = posterior.edge_sites
    is_only = len(sites) == 1 and not posterior.hidden_sites.issuperset(sites)
    return {site: "edge" if is_only else site for site in sites}


def _structures(posterior: PosteriorDraws) -> dict[str, Float[np.ndarray, "chains draws ..."]]:
    values = posterior.structures
    found = values._asdict() | {"together": values.pairs_together()[0]}
    return {name: _floats(value) for name, value in found.items()}


def _floats(value: Shaped[AnyArray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Floats: ArviZ subtracts draws, and cannot rank an integer that never changes."""
    return np.asarray(value, float)


def named(
    sites: Mapping[str, Shaped[np.ndarray, "chains draws ..."]], names: Sequence[str], labels: Names
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Named dimensions of sites, and their coordinates.

    Args:
        sites: the values of each site.
        names: names of the D dimensions, for sites of shape (D,) and (D, D).
        labels: labels of pairs, for sites that list pairs of dimensions.

    Returns:
        The names of every site's dimensions, and the coordinates of every dimension.
    """
    size = len(names)
    known = {(size,): ["dim"], (size, size): ["dim", "dim_other"]}
    shapes = {name: value.shape[2:] for name, value in sites.items()}
    dims = {name: known[shape] for name, shape in shapes.items() if shape in known}
    coords = {"dim": list(names), "dim_other": list(names)}
    for site, pairs in labels.items():
        dim = "pair" if coords.get("pair", pairs) == pairs else f"{site}_pair"
        dims[site], coords[dim] = [dim], list(pairs)
    return {**dims, "y": ["observation"]}, coords


def to_container(groups: Mapping[str, Mapping[str, Any]], dims: Names, coords: Names) -> Any:
    """Builds ArviZ's container: from nested groups in ArviZ 1, group by group in ArviZ 0."""
    import arviz as az

    filled: dict[str, Any] = {name: dict(group) for name, group in groups.items() if group}
    if int(az.__version__.partition(".")[0]) >= 1:
        return az.from_dict(filled, dims=dims, coords=coords)
    no_draws: dict[str, Any] = {"observed_data": []}
    datasets: dict[str, Any] = {
        name: az.dict_to_dataset(group, dims=dims, coords=coords, default_dims=no_draws.get(name))
        for name, group in filled.items()
    }
    return az.InferenceData(**datasets)
