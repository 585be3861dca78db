"""Experiments of Rolland, Scarlett, Bogunovic and Cevher 2018."""

from papers.deviations import RATIO, Deviations
from papers.experiment import Experiment
from papers.graph_learning import GraphLearning
from papers.search import Search

PAPER = "Rolland et al. 2018"
METHODS = ("Overlap", "No Overlap", "Oracle", "random", "structbo")


def search_on(name: str, place: str, graph: str, title: str) -> Experiment:
    """Regret on functions of a graph."""
    return Experiment(
        name=name,
        paper=PAPER,
        place=place,
        title=title,
        kind=Search(evaluations=60, noise=0.01),
        problems=(graph,),
        methods=METHODS,
        measures=("simple regret", "average cumulative regret"),
        seeds=10,
        printed="Oracle is best. Overlap is like No Overlap at first, and better later.",
        reduced="10 functions and 60 evaluations. Lengthscale 0.2.",
    )


def learning_on(name: str, place: str, graph: str) -> Experiment:
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
        why="Overlap finds nearly all edges, and No Overlap about a third of them. With the even "
        "prior of the paper, Overlap also joins a third of the other pairs; a sparse one does not.",
        reduced="3 functions, and random points instead of the points of a search.",
    )


EXPERIMENTS = (
    search_on(
        "rolland-figure-3", "figure 3", "star", "regret on functions of a star graph"
    )._replace(
        why="The oracle has the lowest average regret, and Overlap and No Overlap are "
        "alike. Overlap is not ahead later: its graph is learned only twice in 60 evaluations.",
    ),
    search_on(
        "rolland-figure-4", "figure 4", "grid", "regret on functions of a 3 x 3 grid graph"
    )._replace(
        why="The oracle is ahead, and Overlap and No Overlap differ by chance, also "
        "later; see figure 3.",
    ),
    search_on(
        "rolland-figure-3-precision",
        "figure 3, L as a precision",
        "star, lengthscale 2.24",
        "regret on functions of a star graph with lengthscale 2.24",
    )._replace(
        seeds=3,
        methods=("Overlap, lengthscales around 2.24", "Oracle", "random", "structbo"),
        why="Functions with this lengthscale are nearly quadratic: all methods but random points "
        "find the optimum within few evaluations, with the graph or without.",
        reduced="3 functions and 60 evaluations; the paper averages 10 runs. Lengthscale 2.24.",
    ),
    learning_on("rolland-figure-5", "figure 5", "star"),
    learning_on("rolland-figure-6", "figure 6", "grid"),
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
