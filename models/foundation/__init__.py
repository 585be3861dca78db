"""Foundations of all packages: precision, arguments, values, compiled programs, the device."""

__all__: list[str] = []
