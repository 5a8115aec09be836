"""The functions of ATen's ops, by kind."""

from importlib import import_module

KINDS = (
    "control", "convolution", "creation", "derivatives", "elementwise", "indexing", "linalg", "normalization", "pooling",
    "products", "reductions", "sampling", "shapes", "sorting",
)  # fmt: skip


def load() -> None:
    """Import them all, which fills the table."""
    for kind in KINDS:
        import_module(f".{kind}", __name__)
