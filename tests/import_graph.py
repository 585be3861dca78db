"""The import graph of the library, by module and by room.

`python tests/import_graph.py` prints the rooms in their order, each with its imports.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLOORS = ("models", "samplers", "structbo")
ROOMS = (
    "models.foundation",
    "models",
    "samplers.kdpp",
    "samplers",
    "space",
    "data",
    "maximizers",
    "draws",
    "acquisition",
    "batches",
    "screening",
    "proposal",
    "posterior",
    "optimizer",
    "plots",
    "report",
    "recipes",
    "integrations",
    "runs",
    "command_line",
    "structbo",
)
"""The rooms in order; a room imports itself and rooms before it."""

Graph = dict[str, set[str]]


def files() -> list[Path]:
    return [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]


def module_name(path: Path) -> str:
    """Its import name, for example structbo.models.gp for models/gp.py."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "structbo" else ("structbo", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(path: Path) -> Iterator[str]:
    """All imports of a file, including imports in functions and for type checkers."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            yield from (f"{start}.{alias.name}" for alias in node.names)


@cache
def module_graph() -> Graph:
    """The imported modules of every module of the library."""
    modules = {module_name(path): path for path in files()}

    def imported(path: Path) -> Iterator[str]:
        for name in imported_names(path):
            module = name if name in modules else name.rpartition(".")[0]
            if module in modules:
                yield module

    return {name: set(imported(path)) - {name} for name, path in modules.items()}


def room(module: str) -> str:
    """The folder of a module; "structbo" for the top of the package."""
    _, *inside = module.removesuffix(".__main__").split(".")
    nested = ".".join(inside[:2])
    return nested if nested in ROOMS else ".".join(inside[:1]) or "structbo"


def room_graph() -> Graph:
    """The imported rooms of every room."""
    graph: Graph = {name: set() for name in ROOMS}
    for module, imported in module_graph().items():
        graph[room(module)] |= {room(other) for other in imported} - {room(module)}
    return graph


def circles(graph: Graph) -> set[str]:
    """Modules in import cycles, and modules above them; empty without cycles."""
    left = dict(graph)
    while leaves := [name for name in left if not left[name] & left.keys()]:
        for name in leaves:
            del left[name]
    return set(left)


def main() -> None:
    graph = room_graph()
    for name in ROOMS:
        print(f"{name:13}", *sorted(graph[name], key=ROOMS.index))
    arrows = [(a, b) for a in ROOMS for b in graph[a]]
    upward = [(a, b) for a, b in arrows if ROOMS.index(b) > ROOMS.index(a)]
    print(f"{len(ROOMS)} rooms, {len(arrows)} arrows, {len(upward)} upward", *upward)
    print(f"{len(circles(module_graph()))} modules in circles", *sorted(circles(module_graph())))


if __name__ == "__main__":
    main()
