"""Whole runs: `minimize` and `maximize` ask, evaluate, tell, and keep what was told."""

from structbo.runs.minimization import maximize, minimize

__all__ = ["maximize", "minimize"]
