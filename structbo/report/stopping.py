"""Whether a search should go on."""

import numpy as np

from structbo.report.digits import column_texts
from structbo.report.evidence import Evidence

ROUNDS = 2
"""The best value counts as recent among the last runs, this number times the parameters."""


def stop_or_go_on(evidence: Evidence) -> str:
    """Advice from the next points and from when the best value came.

    Before the model chooses the points, the search goes on. After that, two reasons speak for going
    on. One of the next points is expected to be better than all runs, by more than the measurement
    error. Or one of the last runs has the best value.
    """
    if not evidence.is_modeled:
        return (
            "Go on: there are too few values to let the model choose points. These points are "
            "spread evenly over the search space."
        )
    name, best = evidence.value_name, evidence.best
    expected = evidence.sign * evidence.of_next_points.mean
    gain = float(expected.max() - evidence.sign * evidence.best_expected)
    if gain > (evidence.measurement_error or 0.0):
        point = int(np.argmax(expected)) + 1
        (text,) = column_texts([gain], digits=2)
        return (
            f"Go on: at point {point} the model expects a better {name} than at any run, by {text}."
        )
    finished = [trial.number for trial in evidence.told if trial.value is not None]
    recent = ROUNDS * len(evidence.names)
    nowhere = f"the model expects no clearly better {name} at these points than at the best run"
    if len(finished) <= recent or best.number in finished[-recent:]:
        return (
            f"Go on: {nowhere}, but the best value is recent. If {recent} more runs do not improve "
            "it, you may stop."
        )
    return (
        f"You may stop: {nowhere}, and the last {recent} runs did not improve the best value. Go "
        "on if the chances in the table are worth the effort."
    )
