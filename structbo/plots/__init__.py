"""Pictures of what was learned, and of how far it can be trusted.

Every function takes what it shows, then the names of the parameters where it needs them; all else
is by keyword, and ``ax``, where to draw, comes last.
"""

from structbo.plots.agreement import plot_agreement
from structbo.plots.alike import plot_alike
from structbo.plots.calibration import plot_calibration
from structbo.plots.convergence import plot_convergence
from structbo.plots.effects import plot_effects, plot_surface
from structbo.plots.importances import plot_importances
from structbo.plots.interactions import plot_interactions
from structbo.plots.prior import plot_prior_posterior
from structbo.plots.together import plot_together
from structbo.plots.trace import plot_trace

__all__ = [
    "plot_agreement",
    "plot_alike",
    "plot_calibration",
    "plot_convergence",
    "plot_effects",
    "plot_importances",
    "plot_interactions",
    "plot_prior_posterior",
    "plot_surface",
    "plot_together",
    "plot_trace",
]
