"""`lamina.special`: special functions under scipy's names, composed of graph ops.

Each is accurate to some units in the last place over its whole domain, and so are its derivatives, which are those of the
formulas: branches that a `select` leaves out are computed at harmless points.
"""

from ...names import attach

__getattr__, __dir__, __all__ = attach("special")
