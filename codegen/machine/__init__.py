"""The limits of this machine, measured with our own code.

`roofline`: multiply-adds a second and memory traffic, the limits of a roofline. `chains`: costs of single instructions.
`memory`: caches and non-temporal stores. `race`: which of several ways is fastest on a machine that others use, too.
"""

from .roofline import FmaProbe, TriadProbe, peak_flops, triad_bytes

__all__ = ["FmaProbe", "TriadProbe", "peak_flops", "triad_bytes"]
