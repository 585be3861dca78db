"""What all floors stand on: precision, arguments, values, compiled programs, the device."""

__all__: list[str] = []
