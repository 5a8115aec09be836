"""A page that shows a compilation: the graph with its kernels, each pass as a diff, schedules, assembly, memory, a roofline.

`lamina-opt model.mlir --explore out.html` and `f.explore(*args)` write it. `record.py` runs the pipeline and keeps what
each step leaves; the other files draw one part of the page each; `page.py` puts them together. The page is one file that loads
nothing.
"""

from .page import Page, explore
from .record import Recording, record

__all__ = ["Page", "Recording", "explore", "record"]
