"""Target data and the detection of the host."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest
from lamina.codegen.targets import TARGETS, get, host
from lamina.codegen.targets import host as host_module
from lamina.codegen.targets.host import cache_bytes, classify, detect
from lamina.errors import CompileError


@pytest.mark.parametrize("target", [*TARGETS.values(), detect()], ids=lambda t: t.name)
def test_data_are_consistent(target):
    assert target.lanes(target.vector_bits) == 1 and target.lanes(8) == target.vector_bits // 8
    assert target.l1_bytes < target.l2_bytes < target.l3_bytes
    for bits, (rows, columns) in ((32, target.tile_f32), (64, target.tile_f64)):
        vectors = columns // target.lanes(bits)
        assert columns % target.lanes(bits) == 0
        assert rows * vectors + vectors + 1 <= target.vector_registers, "the tile does not fit in the registers"
    assert dataclasses.replace(target) == target and hash(target)


def test_get():
    assert get("x86-64-v3").vector_bits == 256
    assert get("host") is host()
    with pytest.raises(CompileError, match="unknown target 'z80', known are: host, x86-64-v2"):
        get("z80")


V3 = {"avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe"}
V4 = V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


@pytest.mark.parametrize(
    ("triple", "features", "name"),
    [
        ("x86_64-unknown-linux-gnu", set(), "x86-64-v2"),
        ("x86_64-unknown-linux-gnu", V3 - {"fma"}, "x86-64-v2"),
        ("x86_64-unknown-linux-gnu", V3, "x86-64-v3"),
        ("x86_64-unknown-linux-gnu", V4 - {"avx512vl"}, "x86-64-v3"),
        ("x86_64-apple-darwin", V4, "x86-64-v4"),
        ("aarch64-unknown-linux-gnu", {"neon"}, "aarch64"),
        ("arm64-apple-darwin", set(), "aarch64"),
    ],
)
def test_classify(triple, features, name):
    assert classify(triple, features).name == name


def test_narrow_cpus_get_narrow_vectors(monkeypatch):
    from lamina.codegen._llvm import llvm

    binding = llvm()
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: "cascadelake")
    monkeypatch.setattr(host_module, "classify", lambda *_: TARGETS["x86-64-v4"], raising=False)
    monkeypatch.setattr(sys.modules[detect.__module__], "classify", lambda *_: TARGETS["x86-64-v4"])
    target = detect.__wrapped__()
    assert (target.cpu, target.vector_bits, target.tile_f32) == ("cascadelake", 256, TARGETS["x86-64-v3"].tile_f32)
    assert target.vector_registers == 32


def test_environment_overrides():
    code = f"import sys; sys.path[:] = {sys.path!r}\nfrom lamina.codegen.targets import host; print(host().name)"
    for name, code_out in (("x86-64-v2", "x86-64-v2"), ("host", "host"), ("", "host")):
        out = subprocess.run(
            [sys.executable, "-c", code], env={"LAMINA_TARGET": name}, capture_output=True, text=True, check=True
        )
        assert out.stdout.strip() == code_out


def test_cache_sizes(tmp_path):
    def index(number, kind, level, size):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, text in (("type", kind), ("level", level), ("size", size)):
            (folder / name).write_text(text + "\n")

    assert cache_bytes(tmp_path) == {} and cache_bytes(tmp_path / "none") == {}
    index(0, "Data", "1", "48K")
    index(1, "Instruction", "1", "32K")
    index(2, "Unified", "2", "2M")
    index(3, "Unified", "3", "odd")
    (tmp_path / "index4").mkdir()
    assert cache_bytes(tmp_path) == {1: 48 << 10, 2: 2 << 20}


def test_import_is_light():
    code = f"import sys; sys.path[:] = {sys.path!r}\nimport lamina.codegen.executable\nprint('llvmlite' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
