"""Target data and the detection of the host."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamina.codegen.targets import TARGETS, get, host
from lamina.codegen.targets.base import FEATURES
from lamina.codegen.targets.host import cache_bytes, classify, detect, why_not_here
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.errors import CompileError
from lamina.executor import executor
from lamina.lowering.target import set_target


@pytest.mark.parametrize("target", [*TARGETS.values(), detect()], ids=lambda t: t.name)
def test_data_are_consistent(target):
    assert target.lanes(target.vector_bits) == 1 and target.lanes(8) == target.vector_bits // 8
    assert target.l1_bytes < target.l2_bytes < target.l3_bytes
    for bits in (32, 64):
        rows, columns = target.tile_of(bits)
        vectors = columns // target.lanes(bits)
        assert columns % target.lanes(bits) == 0
        assert rows * vectors + vectors + 1 <= target.vector_registers, "the tile does not fit in the registers"
    assert dataclasses.replace(target) == target and hash(target)


def test_get():
    assert get("x86-64-v3").vector_bits == 256
    assert get("host") is host()
    assert get("host{l2=3M}") == dataclasses.replace(host(), l2_bytes=3 << 20)
    assert get(" x86-64-v3 { l2=256K  l3=0 } ") == dataclasses.replace(TARGETS["x86-64-v3"], l2_bytes=256 << 10, l3_bytes=0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("z80", "unknown target 'z80', known are: host, aarch64, riscv64, wasm32, x86-64-v2"),
        ("a b", "no name with options in braces"),
        ("x86-64-v3{l2=256K", "no name with options in braces"),
        ("x86-64-v3{l4=1M}", r"'x86-64-v3' has no option 'l4=1M', options are: triple=, features=, .*l1=, l2=, l3=, div="),
        ("x86-64-v3{l2}", "has no option 'l2'"),
        ("x86-64-v3{l2=}", "l2= takes bytes, at least 1K, as 512K or 2M, got ''"),
        ("x86-64-v3{l2=12}", "l2= takes bytes"),
        ("x86-64-v3{l2=999999999999G}", "l2= takes bytes"),
        ("x86-64-v3{l1=64K l2=32K}", "l1=64K is larger than l2=32K"),
        ("x86-64-v3{vector=512}", "vector=512 is wider than its registers, 256 bits"),
        ("x86-64-v3{vector=100}", "vector= takes 128, 256 or 512 bits, got '100'"),
        ("x86-64-v3{tile=12x2}", "tile=12x2 needs 27 registers, there are 16"),
        ("x86-64-v3{tile=0x2}", "tile= takes rows x vectors"),
        ("x86-64-v3{features=gfni}", r"features= takes features beyond the level's, as \+gfni"),
        ("x86-64-v4{features=-avx512f}", r"features= takes features beyond the level's"),
        ("x86-64-v3{features=+teleport}", r"no feature \+teleport, there are: avx, "),
        ("x86-64-v3{triple=nvptx64-nvidia-cuda}", "triple=nvptx64-nvidia-cuda is of another architecture"),
        ("x86-64-v3{cpu=i386}", "has no option 'cpu=i386'"),
    ],
)
def test_what_is_no_target(text, message):
    with pytest.raises(CompileError, match=message):
        get(text)


SIZES = st.integers(0, 10).map(lambda k: 1024 << k)


@given(
    level=st.sampled_from(sorted(TARGETS)),
    l1=SIZES,
    more=st.integers(1, 5000),
    l3=st.just(0) | SIZES,
    narrow=st.booleans(),
    rows=st.integers(1, 5),
    tune=st.sampled_from(("", "znver3", "neoverse-n1")),
    beyond=st.booleans(),
    costs=st.tuples(*[st.tuples(st.integers(1, 9999), st.integers(1, 9999))] * 3),
    lanes=st.tuples(*[st.integers(0, 9999).map(lambda tenths: tenths / 10)] * 3),
    stream=st.just(0) | SIZES,
)
def test_text_gives_the_target_back(level, l1, more, l3, narrow, rows, tune, beyond, costs, lanes, stream):
    base = TARGETS[level]
    features = ",".join(f"+{name}" for name in sorted(FEATURES[base.architecture])[:2]) if beyond else base.features
    target = dataclasses.replace(base, l1_bytes=l1, l2_bytes=l1 + more, l3_bytes=l3, tile=(rows, 1), tune=tune or base.tune)
    target = dataclasses.replace(target, vector_bits=128 if narrow else base.vector_bits, features=features)
    target = dataclasses.replace(target, div=costs[0], sqrt=costs[1], exp=costs[2], stream_bytes=stream, wake_ops=stream + 7)
    target = dataclasses.replace(target, gather=lanes[0], scatter=lanes[1], far=lanes[2])
    assert get(str(target)) == target
    assert get(str(base)) is base and get(str(host())) == host()


def test_what_cannot_run_here():
    here = detect()
    other = "aarch64" if here.architecture == "x86_64" else "x86-64-v3"
    assert "this machine is" in (why_not_here(get(other)) or "")
    assert why_not_here(here) is None and why_not_here(dataclasses.replace(here, l2_bytes=1 << 20)) is None
    assert "no i486 processor" in (why_not_here(dataclasses.replace(here, cpu="i486")) or "")
    assert why_not_here(dataclasses.replace(here, features="+teleport")) == "this machine lacks teleport"
    for name in ("x86-64-v2", "x86-64-v3", "x86-64-v4"):
        runs = here.architecture == "x86_64" and name <= here.name
        assert (why_not_here(TARGETS[name]) is None) == runs
    text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"
    module = parse_module(make_context(), text, "m")
    set_target(module, get(other))
    with pytest.raises(CompileError, match=f"the module is for target '{other}', which cannot run here"):
        executor.program(module)


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
        ("riscv64-unknown-linux-gnu", set("mafdcv") | {"zba", "zbb", "zfhmin", "zvfhmin", "zicsr"}, "riscv64"),
    ],
)
def test_classify(triple, features, name):
    assert classify(triple, features).name == name


def test_a_machine_that_no_level_describes():
    with pytest.raises(CompileError, match="there is no target for s390x, only for aarch64, riscv64, wasm32, x86-64-v2"):
        classify("s390x-unknown-linux-gnu", set())
    with pytest.raises(CompileError, match=r"target 'riscv64' needs v, zba, zbb, zfhmin, zvfhmin, which this machine lacks"):
        classify("riscv64-unknown-linux-gnu", set("mafdc"))


ICE_LAKE = V4 | {"avx512vnni", "avx512vbmi", "avx512vbmi2", "avx512ifma", "gfni"}


@pytest.mark.parametrize(
    ("features", "is_wide"),
    [
        (V4, False),  # Skylake servers
        (V4 | {"avx512vnni", "avx512bf16"}, False),  # Cooper Lake
        (ICE_LAKE, False),  # Ice Lake and Rocket Lake, client cores
        (ICE_LAKE | {"avx512vp2intersect"}, False),  # Tiger Lake
        (ICE_LAKE | {"wbnoinvd"}, True),  # Ice Lake servers
        (ICE_LAKE | {"wbnoinvd", "avx512bf16", "avx512fp16", "amx-tile"}, True),  # Sapphire Rapids
        (ICE_LAKE | {"avx512bf16", "amx-tile"}, True),  # the same, as some hypervisors show it
        (ICE_LAKE | {"wbnoinvd", "avx512bf16"}, True),  # Zen 4
        (ICE_LAKE | {"wbnoinvd", "avx512bf16", "avx512vp2intersect", "avxvnni"}, True),  # Zen 5
    ],
)
def test_the_width_of_vectors_is_guessed_from_features(monkeypatch, features, is_wide):
    from lamina.codegen._llvm import llvm

    binding = llvm()
    monkeypatch.setattr(binding, "get_process_triple", lambda: "x86_64-unknown-linux-gnu")
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: "a-processor-nobody-knows")
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: dict.fromkeys(features, True) | {"amx-int8": False})
    target = detect.__wrapped__()
    like = TARGETS["x86-64-v4" if is_wide else "x86-64-v3"]
    assert (target.name, target.tune, target.vector_registers) == ("x86-64-v4", "a-processor-nobody-knows", 32)
    assert (target.vector_bits, target.tile, target.div, target.sqrt) == (like.vector_bits, like.tile, like.div, like.sqrt)
    assert get(str(target)) == target


@pytest.mark.parametrize(("core", "is_wide"), [("emeraldrapids", True), ("icelake-client", False), ("cascadelake", False)])
def test_a_core_is_known_by_name_where_its_features_are_hidden(monkeypatch, core, is_wide):
    from lamina.codegen._llvm import llvm

    binding = llvm()
    monkeypatch.setattr(binding, "get_process_triple", lambda: "x86_64-unknown-linux-gnu")
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: core)
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: dict.fromkeys(ICE_LAKE, True))
    assert detect.__wrapped__().vector_bits == (512 if is_wide else 256)


def test_environment_overrides():
    code = f"import sys; sys.path[:] = {sys.path!r}\nfrom lamina.codegen.targets import host; print(host().name)"
    for name, code_out in (("x86-64-v2", "x86-64-v2"), ("host", detect().name), ("x86-64-v3{l2=256K}", "x86-64-v3")):
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
