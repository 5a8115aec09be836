"""Objects of lamina-compile in programs: every form and instruction set, the checks of entries, other machines, the example."""

from __future__ import annotations

import ctypes
import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lamina.codegen.targets import get
from lamina.codegen.targets.host import why_not_here
from lamina.runtime.shared_object import load
from lamina.tools import lamina_compile, lamina_run

from .programs import built, compiled, llc, output, tool

NET = """
func.func @main(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> (tensor<?x8xf32>, tensor<f32>) {
  %w = graph.const dense<[[0.5, -0.5, 0.25, 0.125, 1.0, 2.0, -1.0, 0.0], [0.25, 0.5, 0.75, 1.0, -1.0, 0.5, 0.5, 0.25],
    [1.5, 0.5, 0.25, -0.125, 1.0, 0.5, -1.0, 0.5], [0.5, -0.25, 0.25, 0.5, 0.0, 2.0, 1.0, 1.0]]> : tensor<4x8xf32>
  %c = graph.concat %x, %y along 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %e = graph.dot %c, %w contract [1] with [0] : (tensor<?x4xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
  %s = graph.exp %e : tensor<?x8xf32>
  %t = graph.reduce add %s over [0, 1] : tensor<?x8xf32> -> tensor<f32>
  return %s, %t : tensor<?x8xf32>, tensor<f32>
}
func.func @half(%x: tensor<6xf16>, %y: tensor<6xbf16>, %z: tensor<3xcomplex<f32>>, %b: tensor<6xi1>)
    -> (tensor<6xf16>, tensor<6xbf16>, tensor<3xcomplex<f32>>, tensor<6xi1>) {
  %xw = graph.convert %x : tensor<6xf16> -> tensor<6xf32>
  %xx = graph.add %xw, %xw : tensor<6xf32>
  %a = graph.convert %xx : tensor<6xf32> -> tensor<6xf16>
  %yw = graph.convert %y : tensor<6xbf16> -> tensor<6xf32>
  %yy = graph.add %yw, %yw : tensor<6xf32>
  %c = graph.convert %yy : tensor<6xf32> -> tensor<6xbf16>
  %d = graph.mul %z, %z : tensor<3xcomplex<f32>>
  return %a, %c, %d, %b : tensor<6xf16>, tensor<6xbf16>, tensor<3xcomplex<f32>>, tensor<6xi1>
}
"""
W = np.array([
    [0.5, -0.5, 0.25, 0.125, 1.0, 2.0, -1.0, 0.0], [0.25, 0.5, 0.75, 1.0, -1.0, 0.5, 0.5, 0.25],
    [1.5, 0.5, 0.25, -0.125, 1.0, 0.5, -1.0, 0.5], [0.5, -0.25, 0.25, 0.5, 0.0, 2.0, 1.0, 1.0],
], np.float32)  # fmt: skip
MAIN = """
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "HEADER"
#ifdef __cplusplus
#define IMAGINARY(z) (z).imag()
#else
#define IMAGINARY(z) (((float *)&(z))[1])
#endif
static float x[5 * 4], y[3 * 4], s[8 * 8], total;
#ifdef __cplusplus
alignas(64)
#else
_Alignas(64)
#endif
static unsigned char arena[1 << 16];
int main(int argc, char **argv) {
  (void)argv;
  for (int i = 0; i < 20; i++) x[i] = i * 0.03125f;
  for (int i = 0; i < 12; i++) y[i] = 1 - i * 0.0625f;
  int64_t needed = net_arena_size(5, 3);
  if (needed < 0 || needed > (int64_t)sizeof arena) return 2;
  int status = net(x, y, s, &total, 5, 3, arena, needed);
  if (status != NET_OK) { printf("%s\\n", net_strerror(status)); return status == NET_UNSUPPORTED_CPU ? 0 : 3; }
  double sum = 0;
  for (int i = 0; i < 64; i++) sum += s[i];
  lamina_f16 h[6], h2[6] = {0};
  lamina_bf16 b[6], b2[6] = {0};
  lamina_c64 z[3] = {0}, z2[3] = {0};
  bool p[6] = {true, false, true, false, true, false}, q[6] = {0};
  unsigned short one = 0x3c00, two, bone = 0x3f80, btwo;
  for (int i = 0; i < 6; i++) { memcpy(h + i, &one, 2); memcpy(b + i, &bone, 2); }
  float parts[2] = {3, 4};
  memcpy((void *)z, parts, 8);
  if (argc < 2) status = net_half(h, b, z, p, h2, b2, z2, q, arena, sizeof arena); /* else: a processor without f16 */
  memcpy(&two, h2, 2); memcpy(&btwo, b2, 2);
  printf("%s %d %d %x %x %g %d%d\\n", net_isa(), status, fabs(sum - total) < 1e-3, two, btwo, IMAGINARY(z2[0]), q[0], q[1]);
  printf("%.4f %.4f\\n", s[0], s[63]);
  return 0;
}
"""


def expected(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.exp(np.concatenate([x, y]).astype(np.float64) @ W)


X, Y = np.arange(20, dtype=np.float32).reshape(5, 4) / 32, 1 - np.arange(12, dtype=np.float32).reshape(3, 4) / 16
CORNERS = "{:.4f} {:.4f}".format(*expected(X, Y)[[0, -1], [0, -1]])


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("net") / "net.mlir"
    path.write_text(NET)
    return path


# Programs


@pytest.mark.parametrize("compilers", [("cc", "c++"), ("clang", "clang++")], ids=["cc", "clang"])
@pytest.mark.parametrize("level", ["v2", "v3", "v4", "multi"])
def test_programs_in_c_and_cpp(net: Path, level: str, compilers: tuple[str, str]):
    """Three forms of one object; where the processor lacks the instructions, the entry says so."""
    options = ["--multi-isa"] if level == "multi" else [f"--target=x86-64-{level}"]
    if level == "multi" and get().architecture != "x86_64":
        pytest.skip("compiles for x86-64")
    threads = {"v2": "--no-threads"}.get(level, "--threads" if level == "v3" else "")
    options += [threads] if threads else []
    library = compiled(net, f"{level}.a", *options)
    if get().architecture != "x86_64":
        pytest.skip("compiles for x86-64")
    text = MAIN.replace("HEADER", f"{level}.h")
    c, cpp = compilers
    tool(c)
    flags = [] if level != "v3" else ["-fopenmp=libgomp"] if c == "clang" else ["-fopenmp"]
    shared = compiled(net, f"{level}.so", *options) if level in ("v3", "multi") else library
    runs = level == "multi" or why_not_here(get(f"x86-64-{level}")) is None
    for compiler, suffix, linked in (((c, *flags), ".c", library), ((cpp, "-std=c++11", *flags), ".cpp", shared)):
        program = built(net.parent, text, linked, compiler=compiler, suffix=suffix)
        said = output([program]).split("\n")
        if runs:
            isa = said[0].split()[0]
            assert isa.startswith("x86-64-") and (level == "multi" or isa.endswith(level))
            assert said[0].split()[1:] == ["0", "1", "4000", "4000", "24", "10"] and said[1] == CORNERS
        else:
            assert said[0] == "the processor lacks instructions that the object was compiled for"
    if level == "multi" and (emulator := shutil.which("qemu-x86_64")) is not None:
        assert output([emulator, "-cpu", "Nehalem", program]).startswith("x86-64-v2 0 1 4000 4000 24 10")
        assert output([emulator, "-cpu", "qemu64", program]).startswith("the processor lacks instructions")


def test_an_object_is_all_that_it_defines(net: Path):
    """Nothing but the names of the interface, and what may be shared, is seen outside."""
    nm = tool("nm")
    found = set(output([nm, "-D", "--defined-only", compiled(net, "names.so")]).split()[2::3])
    names = ["net", "net_half", "net_arena_size", "net_half_arena_size", "net_strerror", "net_isa", "net_lamina_metadata"]
    assert found == {*names}
    assert set(output([nm, "-g", "--defined-only", compiled(net, "a_name_that_is_long.a")]).split()[3::3]) >= {*names}
    assert set(output([nm, "-g", "--defined-only", compiled(net, "net.o")]).split()[2::3]) - {"lamina_parallel"} == {*names}


@pytest.mark.parametrize("target", ["x86-64-v4", "aarch64", "multi"])
def test_llvm_ir_says_what_it_is_for(net: Path, target: str):
    if target == "multi" and get().architecture != "x86_64":
        pytest.skip("compiles for x86-64")
    command = llc()
    text = compiled(net, f"{target}.ll", *(["--multi-isa"] if target == "multi" else [f"--target={target}"]))
    output([command, text, "-o", net.parent / "llc.s"])
    family = {"x86-64-v4": r"\bvfn?m\w+p", "aarch64": r"\bfmla\b", "multi": r"\bvfn?m\w+p"}[target]
    assert re.search(family, (net.parent / "llc.s").read_text())
    if target == "multi":
        np.save(net.parent / "x.npy", X), np.save(net.parent / "y.npy", Y)
        args = ["--args", str(net.parent / "x.npy"), str(net.parent / "y.npy"), "--save", str(net.parent / "out.npz")]
        assert lamina_run.main([str(text), *args]) == 0
        np.testing.assert_allclose(np.load(net.parent / "out.npz")["arr_0"], expected(X, Y), rtol=2e-6)


# Other machines

RISCV = "rv64,v=true,zba=true,zbb=true,vext_spec=v1.0"


@pytest.mark.parametrize("architecture", ["aarch64", "riscv64"])
def test_other_processors(net: Path, architecture: str):
    compiler, emulator = tool(f"{architecture}-linux-gnu-gcc"), tool(f"qemu-{architecture}")
    options, skipped = ["-L", f"/usr/{architecture}-linux-gnu"], []
    if architecture == "riscv64":
        options += ["-cpu", f"{RISCV},zfhmin=true,zvfhmin=true"]
        tried = subprocess.run([emulator, *options, "/bin/true"], capture_output=True, text=True)
        if "not found" in tried.stderr:  # of before version 8.1, which has no vectors of f16
            options[-1], skipped = RISCV, ["no half"]
    for suffix in (".o", ".so"):
        obj = compiled(net, f"{architecture}{suffix}", f"--target={architecture}")
        flags = ["-static"] if suffix == ".o" else []
        text = MAIN.replace("HEADER", f"{architecture}.h")
        program = built(net.parent, text, obj, *flags, compiler=(compiler,))
        said = output([emulator, *options, program, *skipped]).split("\n")
        wanted = ["0", "1"] if skipped else ["0", "1", "4000", "4000", "24", "10"]
        assert said[0].split()[: len(wanted) + 1] == [architecture, *wanted] and said[1] == CORNERS


def test_webassembly(net: Path):
    linker = tool("wasm-ld", "wasm-ld-20", "wasm-ld-19", "wasm-ld-18", "wasm-ld-14")
    wasmtime = pytest.importorskip("wasmtime", reason="no wasmtime")
    obj = compiled(net, "net_wasm.o", "--target=wasm32")
    names = ["net", "net_arena_size"]
    output([linker, "--no-entry", *(f"--export={name}" for name in names), obj, "-o", net.parent / "net.wasm"])
    store = wasmtime.Store()
    instance = wasmtime.Instance(store, wasmtime.Module.from_file(store.engine, str(net.parent / "net.wasm")), [])
    exports = instance.exports(store)
    memory, call = exports["memory"], exports["net"]
    at = memory.data_len(store) + 64
    memory.grow(store, 2)
    places = {}
    needed = exports["net_arena_size"](store, 5, 3)
    for name, data in {"x": X.tobytes(), "y": Y.tobytes(), "s": bytes(256), "t": bytes(64), "a": bytes(needed)}.items():
        places[name] = at
        memory.write(store, data, at)
        at += -(-len(data) // 64) * 64
    assert call(store, *(places[k] for k in "xyst"), 5, 3, places["a"], needed) == 0
    found = np.frombuffer(memory.read(store, places["s"], places["s"] + 256), np.float32).reshape(8, 8)
    np.testing.assert_allclose(found, expected(X, Y), rtol=2e-6)
    assert call(store, *(places[k] for k in "xyst"), 5, -3, places["a"], needed) == 3


# Checks


def test_wrong_calls_are_refused(net: Path):
    """Every mixture of wrong pointers and sizes gives the status that a model of the checks gives; the right ones run."""
    library = ctypes.CDLL(str(compiled(net, "checks.so", "--no-threads")))
    call, size = library.net, library.net_arena_size
    call.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 2 + [ctypes.c_void_p, ctypes.c_int64]
    size.argtypes, size.restype = [ctypes.c_int64] * 2, ctypes.c_int64
    memory = np.zeros(1 << 20, np.uint8)
    base = memory.ctypes.data + -memory.ctypes.data % 64
    rng = np.random.default_rng(0)
    numbers = [0, 1, 2, 3, 7, 64, -1, -(2**63), 2**63 - 1, 2**62, 2**59, 2**40]
    seen: dict[int, int] = {}
    for _ in range(4000):
        n, m = (int(rng.choice(numbers[:6] if rng.random() < 0.7 else numbers)) for _ in range(2))
        places = [base + 65536 * (k + 1) for k in range(5)]
        for k in range(5):
            if rng.random() < 0.08:
                places[k] = int(rng.choice([0, 2**63 - 1, places[k] + 1, places[k] + 2, places[k] + 4, places[(k + 1) % 5]]))
        is_size = n >= 0 and m >= 0 and (n + m) * 32 < 2**63
        needed = size(n, m)
        assert (needed == -3) == (not is_size), (n, m)
        given = int(rng.choice([needed, needed, needed, needed + 64, needed - 1, -1]))
        lengths = [n * 16, m * 16, (n + m) * 32, 4, needed]
        wanted = model(is_size, places, lengths, given)
        if wanted == 0 and any(
            p + size > base + 65536 * 7 or (size and p < base) for p, size in zip(places, lengths, strict=True)
        ):
            continue  # no memory of ours, which no check can know
        found = call(*places[:4], n, m, places[4], given)
        assert found == wanted, (places, n, m, given)
        seen[found] = seen.get(found, 0) + 1
    assert set(seen) == {0, 1, 2, 3, 4, 5} and min(seen.values()) > 20, seen
    library.net_strerror.restype = ctypes.c_char_p
    assert library.net_strerror(5) == b"an array that is written overlaps another array or the arena"
    assert library.net_strerror(-7) == b"unknown status"


def model(is_size: bool, places: list[int], lengths: list[int], given: int) -> int:
    """The status of a call: x, y, the two results and the arena."""
    if not is_size:
        return 3
    if any(not place and length for place, length in zip(places[:4], lengths[:4], strict=True)):
        return 1
    if any(place % 4 for place in places[:4]):
        return 2
    if not places[4] and lengths[4]:
        return 1
    if places[4] % 64 and lengths[4]:
        return 2
    if given < lengths[4]:
        return 4
    spans = [(place, place + length) for place, length in zip(places, lengths, strict=True)]
    pairs = [(a, b) for a, b in itertools.combinations(range(5), 2) if b >= 2]
    meet = any(spans[a][0] < spans[b][1] and spans[b][0] < spans[a][1] and lengths[a] and lengths[b] for a, b in pairs)
    return 5 if meet else 0


BOUNDED = """
program.func @main(%x: memref<?xf32> donated) -> (%y: memref<?xf32> over %x) sizes(%n: index, %k: index) shapes(%x[%n], %y[%k])
    meant <"n where n in 2..40 by 2", "n - 2 where n in 2..40 by 2"> {
}
program.func @update(%x: memref<4xf32> donated, %z: memref<4xf32>) -> (%y: memref<4xf32> over %x) {
  loop.launch @twice(%z, %y) : (memref<4xf32>, memref<4xf32>)
}
loop.kernel @twice(%x: memref<4xf32>, %y: memref<4xf32>) {
  loop.for seq %i = 0 to 4 {
    %v = loop.load %x[%i] : memref<4xf32>
    %w = arith.addf %v, %v : f32
    loop.store %w, %y[%i] : memref<4xf32>
  }
}
loop.kernel @pick(%i: i64, %x: memref<?xf32>, %y: memref<1xf32>, %N: index) shapes(%x[%N]) checks("dim 0 of x") {
  %at = arith.index_cast %i : i64 to index
  %fine = arith.cmpi ult, %at, %N : index
  loop.check %fine, %at, 1
  loop.for seq %k = 0 to 1 {
    %v = loop.load %x[%at] : memref<?xf32>
    loop.store %v, %y[%k] : memref<1xf32>
  }
}
"""


def test_bounds_donations_and_kernels_that_stop(tmp_path: Path):
    (tmp_path / "odd.mlir").write_text(BOUNDED.replace(" donated) -> (%y: memref<?xf32> over %x)", ") -> (%y: memref<?xf32>)"))
    functions = load(compiled(tmp_path / "odd.mlir", "odd.so"))
    library = ctypes.CDLL(str(tmp_path / "odd.so"))
    library.odd_arena_size.argtypes, library.odd_arena_size.restype = [ctypes.c_int64], ctypes.c_int64
    sizes = [n for n in range(-3, 50) if library.odd_arena_size(n) >= 0]
    assert sizes == list(range(2, 41, 2))
    x, z = np.zeros(4, np.float32), np.arange(4, dtype=np.float32)
    assert functions.update(x, z, out=x) is x and (x == 2 * z).all()
    with pytest.raises(Exception, match="OVERLAP"):
        functions.update(x, z, out=z)
    y = np.zeros(1, np.float32)
    functions.pick(3, z, y)
    assert y[0] == 3
    for index in (-1, 4, 2**62):
        with pytest.raises(Exception, match="OUT_OF_BOUNDS: an index is outside of its array"):
            functions.pick(index, z, y)


# The example


def test_the_example_is_built_by_cmake(tmp_path: Path):
    cmake = tool("cmake")
    tool("cc"), tool("c++")
    example = Path(__file__).parents[2] / "examples" / "deployment"
    command = f"{sys.executable};-m;lamina.tools.lamina_compile"
    build = tmp_path / "build"
    strict = ["-DCMAKE_C_FLAGS=-Wall -Wextra -Werror", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror -pedantic"]
    for step in (["-S", example, "-B", build, f"-DLAMINA_COMPILE={command}", *strict], ["--build", build]):
        done = subprocess.run([cmake, *map(str, step)], capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stdout + done.stderr
    first = output([build / "in_c"]).split()
    assert first == "0.3936 0.0684 0.5380 0.7239 0.0812 0.1948 0.6221 0.0006 0.3773".split()
    assert output([build / "in_cpp"]).split() == [*first, "0"]


def test_the_documents_commands_work(net: Path, capsys: pytest.CaptureFixture[str]):
    """Options of the command line that go together, and those that do not."""
    source = str(net)
    folder = net.parent
    for args, message in (
        (["-o", str(folder / "x.o"), "--multi-isa", "--target=x86-64-v3"], "leave out --target"),
        (["-o", str(folder / "x.dll")], "must end in .o, .a, .so, .s or .ll"),
        (["-o", str(folder / "x.o"), "--header", str(folder / "x.weights"), "--weights=file"], "two outputs are the same file"),
    ):
        assert lamina_compile.main([source, *args]) == 2
        assert message in capsys.readouterr().err
    assert lamina_compile.main([source, "-o", str(folder / "x.so"), "--target=wasm32"]) == 1
    assert "no .so is written for target 'wasm32'" in capsys.readouterr().err
