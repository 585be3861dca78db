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
        sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[name])
        except BaseException:
            del sys.modules[name]  # a half-loaded module would be taken for the task
            raise
    return sys.modules[name]
