"""Loads the ``task.py`` of a folder of data."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def task_module(folder: Path) -> ModuleType:
    """The module of the ``task.py`` in a folder, loaded once.

    Args:
        folder: of one task, whose name is not the name of another task's folder.
    """
    name = f"task_{folder.name}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, folder / "task.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name]
