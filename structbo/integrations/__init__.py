"""structbo in other libraries: Optuna samples with it, and keeps its runs.

`structbo.integrations.optuna` has `StructboSampler`, and needs ``pip install "structbo[optuna]"``.
"""

from structbo.integrations.storage import open_storage, read_study

__all__ = ["open_storage", "read_study"]
