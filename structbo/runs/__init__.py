"""Whole runs: `minimize` and `maximize` ask for points, evaluate them and tell the values."""

from structbo.runs.minimization import maximize, minimize

__all__ = ["maximize", "minimize"]
