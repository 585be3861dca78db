"""Tables of the results pages and of README, from the files of examples/benchmarks/results."""

import csv
from collections.abc import Callable
from typing import NamedTuple

import cells
import numpy as np
from cells import Table, joined, short
from paired import BUDGETS, COUNTS
from papers.harness.scores import paired_p
from regret import COUNTS as REGRET_COUNTS
from runs import Runs
from wide_tables import wide, wide_pairs, wide_ratios


def runs_of(name: str, num_keys: int) -> Runs:
    """The rows of a file, of which the first cells identify a run."""
    path = cells.BENCHMARKS / f"{name}.csv"
    with path.open(newline="") as file:
        names = next(csv.reader(file))
    return Runs(path, names[:num_keys], names[num_keys:])


def medians(runs: Runs, *key: object) -> list[float]:
    """The median of every number over the seeds of a setting, which must have runs."""
    found = runs.of_seeds(*key)
    if not len(found):
        raise ValueError(f"{runs.path.name} has no runs of {key}.")
    return [float(v) for v in np.median(found, axis=0)]


def batches() -> Table:
    """Regret and distance within a batch."""
    runs, labels = runs_of("batch_sizes", 4), {"believer": '`"believer"` (default)'}
    rows = []
    for strategy, size in dict.fromkeys(setting[1:] for setting in runs.settings()):
        found = [medians(runs, problem, strategy, size) for problem in ("star10.0", "styblinski10")]
        label = labels.get(strategy, f'`"{strategy}"`') if size != "1" else "one by one"
        distances = joined([row[1] for row in found], ".2f") if size != "1" else ""
        rows.append([label, size, *(short(row[0]) for row in found), distances])
    rows.sort(key=lambda row: (row[1] != "1", row[0]))
    header = ["strategy", "batch size", "star graph", "Styblinski-Tang", "distance within a batch"]
    return Table(header, rows)


DATA_SETS = {
    "star-100": "star graph, 100 points",
    "graph15-100": "random graph of 15 parameters, 100",
    "graph20-100": "random graph of 20 parameters, 100",
    "graph20-200": "random graph of 20 parameters, 200",
    "styblinski-100": "Styblinski-Tang, 100",
    "rotated-100": "rotated function, 100",
    "svr-100": "support vector machine, 100",
    "hartmann-300": "Hartmann-6 in 50 parameters, 300",
}


def convergence() -> Table:
    """Agreement of the chains of `fit`, seed by seed."""
    runs, rows = runs_of("convergence", 2), []
    for name, label in DATA_SETS.items():
        seconds, _, edges, least, _, others, size = runs.of_seeds(name).T
        cells = [joined(edges, ".3f"), joined(least, ".0f"), joined(others, ".3f")]
        rows.append([label, *cells, joined(size, ".0f"), f"{seconds.mean():.0f}"])
    header = ["data", "largest R-hat of edges", "effective draws of the worst edge"]
    others_header = ["R-hat of the worst other site", "its effective draws", "CPU seconds"]
    return Table([*header, *others_header], rows)


FITS = {
    "graph15-100": "`fit`, random graph of 15 parameters, 100 points",
    "graph20-200": "`fit`, random graph of 20 parameters, 200 points",
}


def gpu() -> Table:
    """Seconds by the clock on a GPU."""
    rows = []
    for (_, case), (first, later, draws, effective, memory) in runs_of(
        "accelerator", 2
    ).rows.items():
        what, count = case.split(",")
        if what in FITS:
            label = f"{FITS[what]}, {count} chains"
            shown = f"{draws:,.0f} ({effective:,.0f} effective)"
        else:
            label, shown = f"suggestion, {what} parameters, {int(count):,} evaluations", ""
        rows.append([label, f"{first:.0f} s", f"{later:.2g} s", shown, f"{memory:.1f} GB"])
    return Table(["", "first, with compilation", "later", "draws", "GPU memory"], rows)


def large_problems() -> Table:
    """Seconds by the clock and memory on a CPU."""
    rows = [
        [
            f"{num_dims}, {int(n):,}",
            *(f"{short(s)} s" for s in (first, later)),
            f"{MB / 1000:.1f} GB",
        ]
        for (num_dims, n), (first, later, MB) in runs_of("scale", 2).rows.items()
    ]
    return Table(["parameters, evaluations", "first suggestion", "next suggestion", "memory"], rows)


FAMILIES = {
    "star10": "star graphs of 10 parameters",
    "grid9": "3 x 3 grid graphs of 9 parameters",
    "graph15": "random graphs of 15 parameters",
    "rotated10": "no structure along the axes, 10 parameters",
}


def paired() -> Table:
    """Medians beside BoTorch's default, and Wilcoxon's test of the logarithms."""
    runs, rows = runs_of("paired", 3), []
    for family, label in FAMILIES.items():
        found = [
            {int(key[2]): row for key, row in runs.rows.items() if key[:2] == (family, method)}
            for method in ("structbo", "BoTorch")
        ]
        for column, count in enumerate(COUNTS):
            if count > BUDGETS[family]:
                continue
            pair = [{seed: row[column] for seed, row in method.items()} for method in found]
            shown = [short(float(np.median([*values.values()]))) for values in pair]
            logs = [{seed: np.log(v) for seed, v in values.items()} for values in pair]
            name = "" if column else f"{label}, {len(found[0])} functions"
            rows.append([name, str(count), *shown, f"{paired_p(*logs):.1g}"])
    return Table(["random functions", "evaluations", "structbo", "BoTorch", "p"], rows)


RECIPES = {
    "structbo": "structbo's default",
    "model_mcmc": "partitions by MCMC (`model_mcmc`)",
    "bag_of_models": "best of a bag of partitions (`bag_of_models`)",
    "cws_gp_ucb": "screening along coordinates (`cws_gp_ucb`)",
    "hds_gp_ucb": "screening along diagonals (`hds_gp_ucb`)",
    "known_partition": "the true partition is known (`known_partition`)",
    "random_trees": "random trees (`random_trees`)",
    "vanilla": "one component, dimension-scaled (`vanilla`)",
    "saas": "sparse lengthscales (`saas`)",
    "gp_ucb": "one component, upper bound (`gp_ucb`)",
    "g_add_gp_ucb": "overlapping groups, learned (`g_add_gp_ucb`)",
    "g_add_gp_ucb, oracle": "overlapping groups, the true graph is known",
    "g_add_gp_ucb, no overlap": "overlapping groups, disjoint",
    "add_gp_ucb": "random groups of two (`add_gp_ucb`)",
    "rpp_gp_ucb": "restricted directions (`rpp_gp_ucb`)",
    "pp_gp_ucb": "free directions (`pp_gp_ucb`)",
    "rembo": "random directions (`rembo`)",
    "random": "quasi-random points",
}


def recipes() -> Table:
    """Regret of published methods after all evaluations."""
    runs, rows = runs_of("recipes", 3), []
    for recipe, label in RECIPES.items():
        found = [medians(runs, problem, recipe) for problem in ("star10.0", "styblinski10")]
        rows.append([label, *(short(row[-2]) for row in found)])
    return Table(["recipe", "star graph", "Styblinski-Tang"], rows)


FUNCTIONS = {
    "star10": ("star graph, 10 parameters", 100),
    "grid9": ("3 x 3 grid graph, 9 parameters", 100),
    "styblinski10": ("Styblinski-Tang, 10 parameters", 100),
    "michalewicz10": ("Michalewicz, 10 parameters", 200),
    "hartmann6-50": ("Hartmann-6 hidden in 50 parameters", 100),
    "rosenbrock30": ("Rosenbrock, 30 parameters", 200),
    "rover60": ("rover path, 60 parameters", 150),
}
"""The shared functions, each with a number of evaluations."""


class Compared(NamedTuple):
    """Median regrets on a function.

    Args:
        label: the function.
        count: number of evaluations.
        ours: regret of structbo.
        theirs: regret of another method.
        method: the other method, and how its runs differ.
    """

    label: str
    count: int
    ours: float
    theirs: float
    method: str

    def cells(self) -> list[str]:
        """Both regrets; the smaller one is bold."""
        ours, theirs = (
            f"**{short(value)}**" if value == min(self.ours, self.theirs) else short(value)
            for value in (self.ours, self.theirs)
        )
        return [ours, f"{theirs} ({self.method})"]


def compared(family: str) -> Compared:
    """structbo and the best of the other libraries on a shared function."""
    label, count = FUNCTIONS[family]
    column, best = REGRET_COUNTS.index(count), []
    peers = runs_of("regret_peers", 3)
    for method in (method for where, method in peers.settings() if where == family):
        size, last, *after = peers.of_seeds(family, method).T
        note = f" after {size.min():.0f}" if (size < count).any() else ""
        note += ", one run" if len(size) == 1 else ""
        median = float(np.median(np.where(size < count, last, after[column])))
        best.append((median, method + note))
    ours = medians(runs_of("regret", 3), family, "structbo")[column]
    return Compared(label, count, ours, *min(best))


def regret() -> Table:
    """Median and worst regret of structbo, and the best other method."""
    runs, rows = runs_of("regret", 3), []
    for family in FUNCTIONS:
        found = compared(family)
        numbers = runs.of_seeds(family, "structbo")[:, REGRET_COUNTS.index(found.count)]
        ours, theirs = found.cells()
        seeds, worst = str(len(numbers)), short(numbers.max())
        rows.append([found.label, str(found.count), seeds, ours, worst, theirs])
    header = ["function", "evaluations", "seeds", "structbo, median", "structbo, worst"]
    return Table([*header, "best other method"], rows)


def readme() -> Table:
    """The comparison of README, where structbo loses first."""
    runs, found = runs_of("paired", 3), []
    for family, label in FAMILIES.items():
        column = COUNTS.index(BUDGETS[family])
        regrets = [medians(runs, family, method)[column] for method in ("structbo", "BoTorch")]
        name = f"{label}, {len(runs.of_seeds(family, 'structbo'))} functions"
        found.append(Compared(name, BUDGETS[family], *regrets, "BoTorch default"))
    found += [compared(family) for family in ("styblinski10", "hartmann6-50", "rover60")]
    found.sort(key=lambda row: row.theirs / row.ours)
    rows = [[row.label, str(row.count), *row.cells()] for row in found]
    return Table(["function", "evaluations", "structbo", "other method"], rows)


DIRECTIONS = ("additive", "restricted", "restricted, sampled", "projected")


def projections() -> Table:
    """Log densities of additive models along directions."""
    runs = runs_of("projections", 5)
    cases = dict.fromkeys((D, n, d) for D, n, _, d, _ in runs.rows)
    rows = []
    for num_dims, n, group_size in cases:
        found = [
            [
                row[0]
                for key, row in runs.rows.items()
                if key[:2] == (num_dims, n) and key[3:] == case
            ]
            for case in ((group_size, method) for method in DIRECTIONS)
        ]
        means = [float(np.mean(values)) if values else None for values in found]
        cells = ["" if m is None else f"{m:.3f}" if m > -100 else f"{m:.0f}" for m in means]
        rows.append([num_dims, n, group_size, str(max(map(len, found))), *cells])
    header = ["D", "observations", "group size", "runs", "additive", "delta = .1"]
    return Table([*header, "delta = .1, sampled", "delta = infinity"], rows)


def expectation_maximization() -> Table:
    """How far EM and gradients are below the best log likelihood, with more evaluations."""
    found: dict[tuple[str, ...], list[list[float]]] = {}
    for (*case, _, method), gaps in runs_of("expectation_maximization", 5).rows.items():
        found.setdefault((*case, method), []).append(gaps)
    rows = []
    for case in dict.fromkeys(key[:3] for key in found):
        (_, after_100, *_), (_, em_after_100, *_, em_after_1000) = (
            np.median(found[*case, method], axis=0) for method in ("gradients", "EM")
        )
        rows.append([*case, *(f"{gap:.1f}" for gap in (after_100, em_after_100, em_after_1000))])
    header = ["D", "observations", "nugget", "gradients, after 100", "EM, after 100"]
    return Table([*header, "EM, after 1000"], rows)


PARTS = {
    "chain": "Markov chain",
    "starts": "starts of the ascent",
    "gradient ascent": "gradient ascent",
}


def speed() -> Table:
    """Milliseconds of a suggestion by part."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for (num_dims, n, part), (_, milliseconds) in runs_of("parts", 3).rows.items():
        found.setdefault((num_dims, n), {})[part] = milliseconds
    rows = []
    for (num_dims, n), parts in found.items():
        whole = sum(ms for part, ms in parts.items() if ", in the " not in part)
        shown = [parts[part] for part in PARTS]
        cells = [*shown, whole - sum(shown), whole]
        rows.append([f"{num_dims}, {n}", *(f"{ms / 1000:.2f}" for ms in cells)])
    return Table(["parameters, evaluations", *PARTS.values(), "rest", "suggestion"], rows)


def suggest() -> Table:
    """CPU seconds of a suggestion beside BoTorch's default."""
    runs, rows = runs_of("suggest", 2).rows, []
    for case in dict.fromkeys(case for case, _ in runs):
        (ours,), (peer,) = runs[case, "structbo"], runs[case, "botorch"]
        rows.append([case, f"{ours:.2f}", f"{peer:.2f}", f"{ours / peer:.2f}"])
    header = ["function, parameters, evaluations", "structbo", "BoTorch", "ratio"]
    return Table(header, rows)


TABLES: dict[str, Callable[[], Table]] = {
    table.__name__: table
    for table in (
        *(batches, convergence, expectation_maximization, gpu, large_problems, paired),
        *(projections, recipes, regret, readme, speed, suggest, wide, wide_pairs, wide_ratios),
    )
}


def calibration(is_repeated: bool) -> dict[tuple[str, str, str], float]:
    """The smaller p-value by case, quantity and seed: with the first seed, or with others."""
    with (cells.BENCHMARKS / "calibration.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["seed"] != "0") == is_repeated]
    return {
        (row["case"], row["quantity"], row["seed"]): min(
            float(row["p_chi_square"]), float(row["p_ecdf"])
        )
        for row in rows
    }


def suspicious() -> list[tuple[str, str]]:
    """Cases and quantities with small p-values."""
    return [key[:2] for key, p in calibration(is_repeated=False).items() if p < 0.003]


def least_repeated() -> float:
    """The least p-value of suspicious quantities with other seeds."""
    return min(p for key, p in calibration(is_repeated=True).items() if key[:2] in suspicious())


def shortfall() -> float:
    """How far message passing stays below gradient ascent at most, in percent."""
    with (cells.BENCHMARKS / "certificates.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return max(float(row["random + gradient %"]) - float(row["value %"]) for row in rows)


NUMBERS: dict[str, Callable[[], str]] = {
    "quantities": lambda: str(len(calibration(is_repeated=False))),
    "small p-values": lambda: str(len(suspicious())),
    "least repeated p-value": lambda: f"{least_repeated():.2g}",
    "shortfall": lambda: f"{shortfall():.2g}",
}
"""Numbers within the text of pages."""
