"""The ratios as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .session import Outcome


def draw(outcomes: Sequence[Outcome], path: Path) -> bool:
    """A bar for each row and number of threads: how many times as fast as the best peer; ticks where it is asked to be.

    Returns:
        Whether there was something to draw, and matplotlib to draw it with.
    """
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "lamina", "font.size": 8})  # the same figures give the same file
    import matplotlib.pyplot as plt

    measured = [o for o in outcomes if o.ratio is not None]
    if not measured:
        return False
    names = list(dict.fromkeys(o.row.name for o in measured))
    threads = sorted({o.threads for o in measured})
    figure, axes = plt.subplots(figsize=(8, 0.8 + 0.24 * len(names)), layout="constrained")
    height = 0.8 / len(threads)
    for k, count in enumerate(threads):
        at = {o.row.name: o for o in measured if o.threads == count}
        places = [names.index(name) - 0.4 + (k + 0.5) * height for name in at]
        label = f"{count} thread{'s' * (count > 1)}"
        axes.barh(places, [o.ratio for o in at.values()], height, label=label, color=("#9ecae1", "#3182bd", "#08519c")[k % 3])
    for o in {o.row.name: o for o in measured}.values():
        y = names.index(o.row.name)
        axes.plot([o.row.limit] * 2, [y - 0.45, y + 0.45], color="#d94801", linewidth=1.5)
    axes.axvline(1, color="black", linewidth=0.6)
    axes.set(
        xscale="log", xlabel="times as fast as the best peer (orange: asked for)", yticks=range(len(names)), yticklabels=names
    )
    ticks = (0.1, 0.2, 0.5, 1, 2, 5, 10)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlim(min(0.5, *(o.ratio or 1 for o in measured)) * 0.9, max(2, *(o.ratio or 1 for o in measured)) * 1.1)
    axes.minorticks_off()
    axes.invert_yaxis()
    axes.legend(loc="lower right")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return True
