"""The next points: maxima of an acquisition averaged over draws."""

from structbo.proposal.batch import Proposal
from structbo.proposal.candidates import candidate_points, first_new, is_new
from structbo.proposal.next_points import prepared, propose
from structbo.proposal.search import Situation

__all__ = [
    "Proposal",
    "Situation",
    "candidate_points",
    "first_new",
    "is_new",
    "prepared",
    "propose",
]
