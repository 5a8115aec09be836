"""What this machine can do, measured with code of our own.

`roofline`: multiply-adds a second and memory traffic, the limits of a roofline. `chains`: what single instructions take.
`memory`: caches and stores past them. `race`: which of several ways is fastest on a machine that others use, too.
"""

from .roofline import FmaProbe, TriadProbe, peak_flops, triad_bytes

__all__ = ["FmaProbe", "TriadProbe", "peak_flops", "triad_bytes"]
