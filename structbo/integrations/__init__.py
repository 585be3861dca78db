"""structbo in other libraries: a sampler for Optuna, and runs stored as Optuna studies.

`structbo.integrations.optuna` has `StructboSampler`, and needs ``pip install "structbo[optuna]"``.
"""

from structbo.integrations.storage import open_storage, read_study

__all__ = ["open_storage", "read_study"]
