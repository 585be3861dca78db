"""The next points: an acquisition averaged over draws, and where it is largest."""

from structbo.proposal.batch import propose_batch
from structbo.proposal.candidates import candidate_points, is_new
from structbo.proposal.one_by_one import Proposal, propose

__all__ = [
    "Proposal",
    "candidate_points",
    "is_new",
    "propose",
    "propose_batch",
]
