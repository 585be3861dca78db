"""Experiments of Rolland, Scarlett, Bogunovic and Cevher 2018."""

from papers.harness.experiment import Experiment
from papers.kinds.deviations import RATIO, Deviations
from papers.kinds.graph_learning import GraphLearning
from papers.kinds.search import Search

PAPER = "Rolland et al. 2018"
METHODS = ("Overlap", "No Overlap", "Oracle", "random", "structbo")


def search_on(name: str, place: str, graph: str, title: str) -> Experiment:
    """Regret on functions of a graph."""
    return Experiment(
        name=name,
        paper=PAPER,
        place=place,
        title=title,
        kind=Search(evaluations=200, noise=0.01),
        problems=(graph,),
        methods=METHODS,
        measures=("simple regret", "average cumulative regret"),
        seeds=5,
        printed="Oracle is best. Overlap is like No Overlap at first, and better later.",
        reduced="5 functions and 200 evaluations. Lengthscale 0.2.",
    )


def learning_on(name: str, place: str, graph: str, why: str) -> Experiment:
    """Correct connections and separations on a graph."""
    return Experiment(
        name=name,
        paper=PAPER,
        place=place,
        title=f"edges of the {graph} graph that are learned",
        kind=GraphLearning(),
        problems=(graph,),
        methods=("Overlap, as printed", "Overlap", "Overlap, sparse prior", "No Overlap"),
        measures=("correct connections", "correct separations"),
        seeds=3,
        printed="Overlap tends to the truth; No Overlap saturates.",
        verdict="agrees",
        why=why,
        reduced="3 functions, and random points instead of the points of a search.",
    )


EXPERIMENTS = (
    search_on(
        "rolland-figure-3", "figure 3", "star", "regret on functions of a star graph"
    )._replace(
        verdict="disagrees",
        why="In part. Up to 100 evaluations the oracle has the lowest average regret of the three. "
        "But Overlap is not better later: No Overlap ends ahead of it in four of five runs, and "
        "level in one. structbo, which learns the graph, ends with the lowest average regret.",
    ),
    search_on(
        "rolland-figure-4", "figure 4", "grid", "regret on functions of a 3 x 3 grid graph"
    )._replace(
        why="Up to 100 evaluations the oracle has a lower average regret than Overlap in all five "
        "runs, and ends level. No Overlap ends ahead of Overlap in three of five. structbo ends "
        "with the smallest mean of both regrets.",
    ),
    search_on(
        "rolland-figure-3-precision",
        "figure 3, L as a precision",
        "star, lengthscale 2.24",
        "regret on functions of a star graph with lengthscale 2.24",
    )._replace(
        kind=Search(evaluations=60, noise=0.01),
        seeds=3,
        methods=("Overlap, lengthscales around 2.24", "Oracle", "random", "structbo"),
        why="Functions with this lengthscale are nearly quadratic: all methods but random points "
        "find the optimum within few evaluations, with the graph or without.",
        reduced="3 functions and 60 evaluations; the paper averages 10 runs. Lengthscale 2.24.",
    ),
    learning_on(
        "rolland-figure-5",
        "figure 5",
        "star",
        "Overlap finds nearly all edges, and No Overlap about a third of them. With the even prior "
        "of the paper, Overlap also joins a third of the other pairs, and not fewer with more "
        "points; a sparse one does not.",
    ),
    learning_on(
        "rolland-figure-6",
        "figure 6",
        "grid",
        "Overlap finds nearly all edges in two of three runs, and No Overlap about a third. With "
        "the even prior of the paper, Overlap also joins up to two fifths of the other pairs; a "
        "sparse one does not.",
    ),
    Experiment(
        name="rolland-figure-8",
        paper=PAPER,
        place="figure 8",
        title="sum of the components' deviations over the joint deviation",
        kind=Deviations(),
        problems=("star",),
        methods=("additive",),
        measures=(RATIO, "correlation"),
        seeds=10,
        printed="The ratio grows as the true deviation gets smaller, and the two are correlated.",
        verdict="agrees",
        why="The sum is several times too large, most where the true deviation is small. All "
        "components share a parameter, so that data cannot tell their parts of it apart.",
    ),
)
