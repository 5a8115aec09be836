"""The page: one HTML file with its style, its script and all texts and pictures in it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from ..diagnostics import FilePosition
from . import roofline
from .assembly import Listing
from .memory import in_bytes
from .record import KernelRecord, Recording, record

_LONGEST_LINE = 240
_CONTEXT = 3
"""Lines around a change that a diff shows."""
_AROUND = 6
"""Lines of source around those that a kernel comes from."""


class Page(str):
    """The text of the page; in a notebook it shows itself."""

    def save(self, path: str | Path) -> None:
        """Write the page to a file.

        Raises:
            OSError: the file cannot be written.
        """
        Path(path).write_text(self, encoding="utf-8")

    def _repr_html_(self) -> str:
        shown = escape(self, quote=True)
        return f'<iframe srcdoc="{shown}" style="width: 100%; height: 640px; border: 0"></iframe>'


def explore(
    module: ModuleOp,
    path: str | Path | None = None,
    *,
    name: str = "module",
    sources: Mapping[str, str] | None = None,
    measure: bool = True,
) -> Page:
    """Compile a module and show its compilation on one page.

    Args:
        module: a module at any phase before `llvmir`; it is changed as by a compilation.
        path: where to write the page; None: nowhere.
        name: the name of the module on the page.
        sources: texts of source files that cannot be read from disk, by name.
        measure: whether the roofline of this machine is measured (about 0.2 s); without it there is none.

    Returns:
        The page, an HTML text that needs no other file and no network. It also shows the steps before an error.

    Raises:
        OSError: the file cannot be written.
    """
    page = render(record(module, name, sources), measure=measure)
    if path is not None:
        page.save(path)
    return page


def render(recording: Recording, *, measure: bool = True) -> Page:
    """The page of a recording."""
    _link(recording)
    machine = _machine() if measure else None
    sections = {
        "Overview": _overview(recording, machine),
        "Graph": _graphs(recording),
        "Passes": _passes(recording),
        "Kernels": _kernels(recording),
        "Memory": _memory(recording),
        "Roofline": _roofline(recording, machine),
    }
    room = files(__package__ or "")
    style, script = (room.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    buttons = "".join(f'<button role="tab" data-tab="{name.lower()}">{name}</button>' for name in sections)
    bodies = "\n".join(f'<section id="{name.lower()}" role="tabpanel">{body}</section>' for name, body in sections.items())
    title = escape(recording.name)
    return Page(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title} - lamina</title>\n'
        f"<style>\n{style}</style></head>\n<body><header><h1>{title}</h1><p>for {escape(recording.target)}</p>"
        f'<nav role="tablist">{buttons}</nav></header>\n{bodies}\n<script>\n{script}</script></body></html>\n'
    )


def _machine() -> roofline.Machine:
    from ..codegen import machine

    return roofline.Machine(machine.peak_flops("float"), machine.triad_bytes())


def _link(recording: Recording) -> None:
    """Give the frames of graphs the names of their kernels: a function launches its groups in their order."""
    for drawing in recording.drawings:
        timeline = next((t for t in recording.timelines if t.function == drawing.function), None)
        launched = [step for step in timeline.steps if step in recording.kernels] if timeline is not None else []
        computed = [k for k, fused in enumerate(drawing.fused) if fused]
        if len(launched) == len(computed):
            names = dict(zip(computed, launched, strict=True))
            drawing.kernels = [names.get(k, "") for k in range(len(drawing.fused))]


def _overview(recording: Recording, machine: roofline.Machine | None) -> str:
    parts = [f'<p class="failure">{escape(recording.failure)}</p>'] if recording.failure else []
    seconds = sum(step.seconds for step in recording.steps)
    arena = sum(timeline.arena_bytes for timeline in recording.timelines)
    facts = (
        ("time in the compiler", f"{seconds * 1e3:.1f} ms"),
        ("kernels", str(len(recording.kernels))),
        ("planned memory", in_bytes(arena)),
    )
    parts.append("<table>" + "".join(f"<tr><th>{a}</th><td>{escape(b)}</td></tr>" for a, b in facts) + "</table>")
    rows = "".join(_kernel_row(kernel, machine) for kernel in recording.kernels.values())
    heads = '<th>kernel</th><th class="n">launches</th><th class="n">flop</th><th class="n">bytes</th><th class="n">steps</th>'
    parts.append(f"<h2>Kernels</h2><table><tr>{heads}<th>bound by</th></tr>{rows}</table>")
    return "".join([*parts, "<h2>Input</h2>", _text(recording.before)])


def _kernel_row(kernel: KernelRecord, machine: roofline.Machine | None) -> str:
    name = escape(kernel.name)
    flops = "?" if kernel.flops is None else f"{kernel.flops:.4g}"
    size = "?" if kernel.bytes is None else in_bytes(kernel.bytes)
    bound = ""
    if machine is not None and kernel.flops is not None and kernel.bytes is not None:
        what, seconds = roofline.limit_of(roofline.Point(kernel.name, kernel.flops, kernel.bytes), machine)
        bound = f"{what}, {seconds * 1e6:.3g} us at least"
    return (
        f'<tr><td><a href="#kernel-{name}">{name}</a></td><td class="n">{kernel.launches}</td><td class="n">{flops}</td>'
        f'<td class="n">{size}</td><td class="n">{len(kernel.steps)}</td><td>{bound}</td></tr>'
    )


def _graphs(recording: Recording) -> str:
    if not recording.drawings:
        return '<p class="hint">The module was past the graph level, or its compilation ended before kernels were chosen.</p>'
    hint = (
        '<p class="hint">Drag to move, scroll to zoom, click an op to see its edges. '
        "A frame is a kernel; its name leads to the kernel.</p>"
    )
    pictures = (f'<h2>@{escape(d.function)}</h2><div class="canvas">{d.svg()}</div>' for d in recording.drawings)
    return hint + "".join(pictures)


def _passes(recording: Recording) -> str:
    longest = max((step.seconds for step in recording.steps), default=0) or 1
    before, parts = recording.before, []
    for step in recording.steps:
        lowered = step.phase in ("llvmir", "asm")  # another language: nothing to compare with
        changed = step.text != before
        bar = f'<span class="bar" style="width: {60 * step.seconds / longest:.1f}px"></span>'
        head = (
            f'<summary><span class="time">{bar}{step.seconds * 1e3:.2f} ms</span><b>{escape(step.name)}</b> '
            f'<span class="why">{escape(step.why)}</span></summary>'
        )
        body = _text(step.text) if lowered else _diff(before, step.text) if changed else ""
        parts.append(f'<details class="{"changed" if changed else "unchanged"}">{head}{body}</details>')
        before = step.text
    return "".join(parts)


def _diff(before: str, after: str) -> str:
    """The lines that differ, with some around them."""
    lines = difflib.unified_diff(_cut(before), _cut(after), n=_CONTEXT, lineterm="")
    kinds = {"+": "add", "-": "del", "@": "at"}
    shown = [line for k, line in enumerate(lines) if k >= 2]  # the first two name files
    parts = (
        f'<span class="{kinds[line[0]]}">{escape(line)}</span>' if line[0] in kinds else f"{escape(line)}\n" for line in shown
    )
    return f"<pre>{''.join(parts)}</pre>"


def _cut(text: str) -> list[str]:
    return [line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + " ..." for line in text.splitlines()]


def _text(text: str) -> str:
    return f"<pre>{escape(chr(10).join(_cut(text)))}</pre>"


def _kernels(recording: Recording) -> str:
    return "".join(_kernel(kernel, recording.sources) for kernel in recording.kernels.values())


def _kernel(kernel: KernelRecord, sources: Mapping[str, str]) -> str:
    steps = "\n".join(kernel.steps) or "no step"
    given_up = f"<h2>Strategies that were given up</h2>{_text(chr(10).join(kernel.given_up))}" if kernel.given_up else ""
    return (
        f'<details id="kernel-{escape(kernel.name)}"><summary><b>@{escape(kernel.name)}</b></summary>'
        f"<h2>Loops</h2>{_text(kernel.loops)}<h2>Schedule</h2>{_text(steps)}{given_up}"
        f"<h2>Scheduled loops</h2>{_text(kernel.scheduled)}<h2>Instructions beside their source lines</h2>"
        + "".join(_listing(one, sources) for one in kernel.listings)
        + "</details>"
    )


def _listing(listing: Listing, sources: Mapping[str, str]) -> str:
    places = [line.place for line in listing.lines if line.place is not None]
    instructions = "".join(
        f'<div class="label">{escape(line.text)}</div>'
        if line.is_label
        else f"<div{_line_of(line.place)}>  {escape(line.text)}</div>"
        for line in listing.lines
    )
    count = sum(not line.is_label for line in listing.lines)
    return (
        f'<p class="hint">{escape(listing.symbol)}: {count} instructions</p><div class="panes">'
        f'<div class="code">{"".join(_source(places, sources))}</div><div class="code">{instructions}</div></div>'
    )


def _line_of(place: FilePosition | None) -> str:
    return "" if place is None else f' data-line="{escape(place.file)}:{place.line}"'


def _source(places: Sequence[FilePosition], sources: Mapping[str, str]) -> Iterator[str]:
    """The source lines that instructions come from, with some around them, file by file."""
    for file in dict.fromkeys(place.file for place in places):
        wanted = {place.line for place in places if place.file == file}
        text = sources.get(file) or _read(file)
        yield f'<div class="label">{escape(file)}</div>'
        lines, last = text.splitlines(), 0
        for number in range(1, len(lines) + 1):
            if not any(number + k in wanted for k in range(-_AROUND, _AROUND + 1)):
                continue
            if number > last + 1 and last:
                yield '<div class="label">...</div>'
            last = number
            mark = f' data-line="{escape(file)}:{number}"' if number in wanted else ""
            yield f'<div{mark}><span class="number">{number}</span>{escape(lines[number - 1])}</div>'


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ""


def _memory(recording: Recording) -> str:
    if not recording.timelines:
        return '<p class="hint">No function needs memory besides its arguments and results.</p>'
    return "".join(
        f"<h2>@{escape(t.function)}: {in_bytes(t.arena_bytes)} in one arena</h2>{t.svg()}" for t in recording.timelines
    )


def _roofline(recording: Recording, machine: roofline.Machine | None) -> str:
    if machine is None:
        return '<p class="hint">This machine was not measured.</p>'
    points = [
        roofline.Point(k.name, k.flops, k.bytes)
        for k in recording.kernels.values()
        if k.flops is not None and k.bytes is not None
    ]
    hint = '<p class="hint">Where a kernel can stand at best: flops are counted in its loops, bytes are each buffer once.</p>'
    return hint + roofline.svg(points, machine)
