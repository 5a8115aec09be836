"""The explorer: what a recording holds, and the page as a browser shows it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.explorer import Page, explore, record
from lamina.explorer.assembly import listings
from lamina.explorer.memory import in_bytes
from lamina.pipeline import STEPS
from lamina.tools import lamina_opt

pytest.importorskip("networkx")

LAYER = """func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x10xf32>) -> tensor<32x10xf32> {
  %h = graph.dot %x, %w contract [1] with [0] : (tensor<32x64xf32>, tensor<64x10xf32>) -> tensor<32x10xf32>
  %y = graph.softmax %h over [1] : tensor<32x10xf32>
  return %y : tensor<32x10xf32>
}
"""


def attention(q, k, v):
    return (lm.nn.softmax(q @ lnp.swapaxes(k, -1, -2) / 8) @ v).sum()


@pytest.fixture(scope="module")
def page() -> Page:
    x = np.ones((2, 33, 17), np.float32)
    return lm.jit(lm.grad(attention)).explore(x, x, x)


def test_a_recording_has_every_step_and_level() -> None:
    found = record(parse_module(make_context(), LAYER, "layer.mlir"), "layer", {"layer.mlir": LAYER})
    assert not found.failure
    assert [step.name for step in found.steps[: len(STEPS)]] == [step.name for step in STEPS]
    assert [step.name for step in found.steps[len(STEPS) :]] == ["emit LLVM IR", "LLVM"]
    dot = next(kernel for name, kernel in found.kernels.items() if name.startswith("dot"))
    assert dot.flops == 2 * 32 * 64 * 10
    assert dot.bytes == 4 * (32 * 64 + 64 * 10 + 32 * 10)
    assert dot.launches == 1
    assert "loop.for" in dot.loops and "vector" in dot.scheduled
    assert any("loop-vectorize" in step for step in dot.steps)
    assert {line.place.line for one in dot.listings for line in one.lines if line.place is not None} >= {2}
    (timeline,) = found.timelines
    assert timeline.arena_bytes == 1280
    assert [(b.offset, b.size, b.first, b.last) for b in timeline.buffers] == [(0, 1280, 0, 1)]
    (drawing,) = found.drawings
    assert sum(drawing.fused) == 2
    assert {node.label for node in drawing.nodes} >= {"%x", "%w", "dot", "exp", "return"}


def test_an_error_ends_the_recording_with_what_was_seen() -> None:
    text = LAYER.replace("@main", "@f") + (
        "func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %y = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>\n  return %y : tensor<4xf32>\n}\n"
    )
    module = parse_module(make_context(), text, "layer.mlir")
    found = record(module, "layer")
    assert "calls itself" in found.failure
    assert 'class="failure"' in explore(parse_module(make_context(), text, "layer.mlir"), measure=False)


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 3)])
def test_sizes_that_are_odd(shape: tuple[int, int]) -> None:
    page = lm.jit(lambda x: lnp.tanh(x) @ x.T).explore(np.ones(shape))
    assert 'class="failure"' not in page


def test_open_sizes_have_no_flops() -> None:
    page = lm.jit(lambda x: lnp.tanh(x) @ x.T, dynamic={"x": ("n", None)}).explore(np.ones((5, 7), np.float32))
    assert 'class="failure"' not in page
    assert '<td class="n">?</td>' in page


def test_everything_is_in_the_page(page: Page) -> None:
    assert "http:" not in page.replace("http://www.w3.org", "") and "https:" not in page and " src=" not in page
    for kernel in re.findall(r'data-kernel="([^"]+)"', page):
        assert f'id="kernel-{kernel}"' in page
    assert "loop-vectorize" in page
    assert re.search("mulps|fmul", page)


def test_the_command_line_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, page = tmp_path / "layer.mlir", tmp_path / "layer.html"
    source.write_text(LAYER)
    assert lamina_opt.main([str(source), "--explore", str(page)]) == 0
    assert "<title>layer - lamina" in page.read_text()
    assert lamina_opt.main([str(source), "--explore", str(tmp_path / "missing" / "x.html")]) != 0
    out, err = capsys.readouterr()
    assert not out.strip() and "cannot write" in err


def test_names_cannot_break_out_of_the_page() -> None:
    text = '</script><script>alert("x")</script>'
    page = explore(parse_module(make_context(), LAYER, text), name=text, sources={text: text}, measure=False)
    assert page.count("<script>") == 1


def test_listings_of_assembly() -> None:
    asm = (
        '\t.file\t1 "folder" "a.py"\n\t.type\tf,@function\nf:\n.Lfunc_begin0:\n\t.loc\t1 7 3\n\tvaddps\t%ymm0, %ymm1, %ymm0\n'
        ".LBB0_1:\n\t.loc\t1 0 3\n\tjne\t.LBB0_1\n\tretq\n"
    )
    (one,) = listings(asm)
    assert one.symbol == "f"
    assert [(line.text, line.place and str(line.place), line.is_label) for line in one.lines] == [
        ("vaddps %ymm0, %ymm1, %ymm0", "folder/a.py:7:3", False),
        (".LBB0_1:", None, True),
        ("jne .LBB0_1", None, False),
        ("retq", None, False),
    ]


def test_units() -> None:
    assert [in_bytes(n) for n in (0, 1, 1023, 1024, 1536, 1 << 40)] == [
        "0 B",
        "1 B",
        "1.02e+03 B",
        "1 KiB",
        "1.5 KiB",
        "1.02e+03 GiB",
    ]


def test_a_notebook_shows_page_and_graph(page: Page) -> None:
    assert page._repr_html_().startswith("<iframe srcdoc=")
    assert lm.jit(lnp.sin).lower(np.ones(3))._repr_svg_().startswith("<svg")


def test_a_browser_shows_each_part(page: Page, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium")
    path = tmp_path / "page.html"
    page.save(path)
    kernel = re.findall(r'id="(kernel-[^"]+)"', page)[0]
    for target, shown in (("graph", "graph"), ("memory", "memory"), (kernel, "kernels")):
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
        dom = subprocess.run(
            [*command, "--virtual-time-budget=2000", "--dump-dom", f"{path.as_uri()}#{target}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        assert 'data-ready="true"' in dom
        assert re.findall(r'<section id="(\w+)"[^>]*class="shown"', dom) == [shown]
        assert re.findall(r'data-tab="(\w+)" aria-selected="true"', dom) == [shown]
        if target == kernel:
            assert re.search(rf'<details id="{kernel}"[^>]* open=', dom)
