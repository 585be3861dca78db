"""Words for the quantities that Markov chains draw."""

from collections.abc import Mapping

import numpy as np

from structbo.models.strengths import PAIR_SITE
from structbo.posterior import Posterior, pair_labels

OF_PARAMETERS: Mapping[str, str] = {
    "lengthscale": "how gradually {value} changes with {name}",
    "relevance": "how strongly {value} depends on {name}",
    "active": "whether {name} matters",
}
"""Sites with one number for every parameter."""
OF_CHOICES: Mapping[str, str] = {
    **OF_PARAMETERS,
    "lengthscale": "how alike the choices of {name} are",
}
"""The same for a parameter whose values are choices without an order."""
OF_PAIRS: Mapping[str, str] = {
    **dict.fromkeys(("Z", "together"), "whether the model joins {a} and {b}"),
    PAIR_SITE: "how strongly {a} and {b} interact if they do",
}
"""Sites with one number for every pair of parameters; a joined pair may still not interact."""
SINGLE: Mapping[str, str] = {
    "noise": "size of the measurement noise",
    "outputscale": "how widely {value} varies",
    "rho": "share of the variation that several parameters cause together",
    "kappa": "how gradual the variation is that all parameters cause together",
    "common": "share of that variation that parameters cause alike",
    "reach": "share of the variation that many parameters cause together",
    "interaction_scale": "how strong interactions are",
    "heredity": "whether parameters with large effects interact strongly",
    "shrinkage": "how few parameters matter",
}
"""Sites with one number."""


def in_words(posterior: Posterior, value_name: str) -> dict[str, str]:
    """Descriptions of rows of `Posterior.summary` by their labels, of all that have one.

    Args:
        posterior: whose parameters they are about.
        value_name: name of the objective.
    """
    names = posterior.names
    pairs = np.triu_indices(len(names), 1)
    ends = list(zip(*pairs, strict=True))
    words = {site: text.format(value=value_name) for site, text in SINGLE.items()}
    choices = {names[d] for d in posterior.units.space.categorical}
    for name in names:
        texts = OF_CHOICES if name in choices else OF_PARAMETERS
        words |= {
            f"{site}[{name}]": text.format(value=value_name, name=name)
            for site, text in texts.items()
        }
    for site, text in OF_PAIRS.items():
        labels = [f"{site}[{label}]" for label in pair_labels(names, pairs)]
        words |= {
            label: text.format(a=names[a], b=names[b])
            for label, (a, b) in zip(labels, ends, strict=True)
        }
    return words
