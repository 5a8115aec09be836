"""Functions of ops, a file for each kind; importing them fills `nodes.HANDLERS`."""

from importlib import import_module

FILES = (
    "control", "detection", "elementwise", "images", "indexing", "linear", "normalization", "quantized", "randoms", "recurrent",
    "reductions", "resize", "sequences", "shapes", "signal", "windows",
)  # fmt: skip


def load() -> None:
    """Import all files."""
    for name in FILES:
        import_module(f"{__name__}.{name}")
