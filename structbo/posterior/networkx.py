"""The posterior as a NetworkX graph."""

from itertools import combinations
from typing import TYPE_CHECKING

from structbo.posterior.importances import Importances
from structbo.posterior.structures import Probabilities

if TYPE_CHECKING:
    import networkx as nx


def probability_graph(
    names: tuple[str, ...],
    active: Probabilities,
    together: Probabilities,
    threshold: float,
    importances: Importances | None = None,
) -> "nx.Graph":
    """The graph of `Posterior.to_networkx`.

    Attributes are plain floats, because file formats such as GraphML take no NumPy numbers.

    Args:
        names: names of the D nodes.
        active: probabilities that a dimension is in some component, shape (D,).
        together: probabilities that two dimensions share a component, shape (D, D).
        threshold: only pairs with a higher probability are joined.
        importances: of the same names.

    Raises:
        ValueError: if the threshold is not in [0, 1], or importances are of other names.

    Example:
        >>> import numpy as np
        >>> pair = Probabilities(np.array([[0, 0.9], [0.9, 0]]), np.full((2, 2), 0.1))
        >>> active = Probabilities(np.ones(2), np.full(2, 0.01))
        >>> probability_graph(("a", "b"), active, pair, threshold=0.5).edges["a", "b"]
        {'probability': 0.9, 'mcse': 0.1}
    """
    if not 0.0 <= threshold <= 1.0:
        raise ValueError(f"threshold must be in [0, 1], got {threshold}.")
    if importances is not None:
        importances.check_names(names)
    import networkx as nx

    graph = nx.Graph()
    for name, probability, mcse in zip(names, *active, strict=True):
        graph.add_node(name, probability=float(probability), mcse=float(mcse))
    for a, b in combinations(range(len(names)), 2):
        probability, mcse = float(together.mean[a, b]), float(together.mcse[a, b])
        if probability > threshold:
            graph.add_edge(names[a], names[b], probability=probability, mcse=mcse)
            if importances is not None:
                graph.edges[names[a], names[b]].update(_shares(importances, a, b))
    return graph


def _shares(importances: Importances, a: int, b: int) -> dict[str, float]:
    pairs = importances.pairs
    values = {
        "share": pairs.mean,
        "lower": pairs.lower,
        "upper": pairs.upper,
        "matters": pairs.matters,
    }
    return {name: float(value[a, b]) for name, value in values.items()}
