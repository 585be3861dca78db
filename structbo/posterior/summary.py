"""The table of convergence diagnostics."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Shaped

from structbo.models.strengths import PAIR_SITE
from structbo.posterior.arviz import named, to_container
from structbo.posterior.draws import PosteriorDraws
from structbo.posterior.structures import (
    Pairs,
    indicator_probabilities,
    indicator_rhat,
    labels_of_pairs,
    pair_labels,
)

if TYPE_CHECKING:
    import pandas as pd


def summary_table(posterior: PosteriorDraws) -> "pd.DataFrame":
    """The table of `Posterior.summary`.

    The labels of its events, such as edges, are ``attrs["events"]``.
    """
    import arviz as az

    from structbo.posterior.wide_table import WideTable

    sites = dict(posterior.draws)
    indicators: dict[str, tuple[Shaped[np.ndarray, "chains draws E"], Pairs]] = {}
    errors: dict[str, float] = {}
    rhat: dict[str, float] = {}
    hidden = posterior.hidden_sites
    if len(posterior.edge_sites) == 1 and not hidden.issuperset(posterior.edge_sites):
        indicators[posterior.edge_sites[0]] = posterior.edges()
    if hidden:
        indicators["together"] = posterior.structures.pairs_together()
        sites = {site: value for site, value in sites.items() if site not in hidden}
    labels: dict[str, list[str]] = {}
    for name, (draws, pairs) in indicators.items():
        if not pairs:  # one variable has no pairs; NumPy 2.5.2 takes no quantiles of empty arrays
            sites.pop(name, None)
            continue
        ends = posterior.directions if name == "together" else posterior.ends_of(name)
        # ArviZ 1.x takes quantiles, which need floats.
        sites[name], labels[name] = draws.astype(float), pair_labels(ends, pairs)
        mcse = indicator_probabilities(draws).mcse
        rows = [f"{name}[{label}]" for label in labels[name]]
        errors |= dict(zip(rows, mcse, strict=True))
        rhat |= dict(zip(rows, indicator_rhat(draws), strict=True))
    events = list(errors)
    if PAIR_SITE in sites:
        labels[PAIR_SITE] = labels_of_pairs(posterior.names)
    dims, coords = named(sites, posterior.names, labels)
    if posterior.families is not None:
        site, names = posterior.families
        is_family = posterior.draws[site][..., None] == np.arange(len(names))
        sites[site] = is_family.astype(float)
        dims[site], coords["family_name"] = ["family_name"], list(names)
        events += [f"{site}[{name}]" for name in names]
    data = to_container({"posterior": sites}, dims, coords)
    with np.errstate(divide="ignore", invalid="ignore"):
        table: pd.DataFrame = az.summary(data, round_to="none").astype(float)
    table.loc[list(errors), "mcse_mean"] = list(errors.values())
    table.loc[list(rhat), "r_hat"] = list(rhat.values())
    still = table["sd"] <= 1e-12 * table["mean"].abs()
    for size in ("ess_bulk", "ess_tail"):
        table.loc[still, size] = table.loc[~still, size].to_numpy().min(initial=posterior.num_draws)
    table.loc[still, "mcse_sd"] = 0.0
    table.loc[still, "r_hat"] = 1.0
    wide = WideTable(table)
    wide.attrs["events"] = events
    if posterior.num_inducing is not None:
        wide.attrs["note"] = approximation(posterior.num_inducing)
    return wide


def approximation(num_inducing: int) -> str:
    """A sentence on the number of inducing points."""
    return (
        f"The likelihood is a lower bound of the exact one, with {num_inducing} of the observed "
        "points as inducing points."
    )
