"""What kernels refuse: every message, at its line; and that nothing else than a KernelError ever comes out."""

from __future__ import annotations

import ast
import copy
import importlib.util
import itertools
import linecache
import random
import sys
import time
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import KernelError
from lamina.executor.kernels import find_kernel
from lamina.frontend.kernel.build import build_kernel
from lamina.runtime.module_signatures import kernel_signature_of

HEAD = """\
import math

import numpy as np
import lamina as lm

TABLE = [1, 2, 3]
WEIGHTS = np.ones(3)
TEXT = "text"
HUGE = 10**400


def helper(v):
    return v + 1


def endless(v):
    return endless(v) + 1


@lm.kernel
def fill(z: lm.f32["L"], v: lm.f32):
    for i in range(L):
        z[i] = v


@lm.kernel
def copy(z: lm.f32["L"], w: lm.f32["L"]):
    for i in range(L):
        z[i] = w[i]


@lm.kernel
def first(z: lm.f32[4], v: lm.i64):
    z[0] = v


@lm.kernel
def around(z: lm.f32["L"]):
    around(z)


def k(x: lm.f32["N"], y: lm.f32["N"], A: lm.f32["M", "N"], n: lm.i64["N"], b: lm.bool_["N"], d: lm.f64["N"], s: lm.f32,
      q: lm.i64, m: lm.i32["N"]):
"""
_counter = itertools.count()


def load(tmp_path: Path, text: str) -> ModuleType:
    """The module of a source text."""
    name = f"kernels_{next(_counter)}"
    path = tmp_path / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refusal(tmp_path: Path, text: str, check_bounds: bool = False) -> tuple[str, int]:
    """The message for the kernel `k` of a source text, and the line it names."""
    module = load(tmp_path, text)
    with pytest.raises(KernelError) as caught:
        build_kernel(module.k, check_bounds)
    return str(caught.value), caught.value.place[1]  # pyright: ignore[reportAttributeAccessIssue]


def body(text: str) -> str:
    """A function with this body."""
    return HEAD + "".join(f"    {line}\n" if line else "\n" for line in text.strip("\n").split("\n"))


STATEMENTS = {
    "break": ("for i in lm.parallel(N):  #!\n    if x[i] > 0:\n        break", "a parallel loop has no break and no return"),
    "return a value": ("return x  #!", "kernels return numbers"),
    "return": ("for i in lm.parallel(N):  #!\n    if x[i] > 0:\n        return", "a parallel loop has no break and no return"),
    "try": ("try:  #!\n    x[0] = 1\nexcept ValueError:\n    pass", "no exceptions"),
    "raise": ("raise KernelFault  #!", "kernels raise Python's own exceptions"),
    "with": ("with open(TEXT):  #!\n    pass", "kernels have no with"),
    "assert": ("assert TEXT  #!", "'TEXT' is a str"),
    "global": ("global TEXT  #!\nTEXT = 1", "kernels have no global"),
    "function": ("@lm.kernel  \ndef inner():  #!\n    pass", "a function inside of a kernel has no decorators"),
    "class": ("class C:  #!\n    pass", "kernels have no classes"),
    "import": ("import os  #!", "import outside"),
    "import from": ("from os import path  #!", "import outside"),
    "del": ("del x[0]  #!", "del takes a variable"),
    "match": ("match q:  #!\n    case [1, 2]:\n        x[0] = 1", "a match has numbers as cases"),
    "expression": ("x[0] + 1  #!", "an expression alone does nothing"),
    "ellipsis": ("...  #!", "kernels have numbers only"),
    "else of for": ("for i in range(N):\n    x[i] = 1\nelse:\n    x[N] = 2  #!", "of dim 0 of x is out of bounds"),
    "else of while": ("t = 0\nwhile True:\n    t += 1  \nelse:\n    x[0] = 2", "this condition is always True"),
    "over a list": ("for i in TEXT:  #!\n    x[0] = 1", "a loop runs over range(...)"),
    "over an array": ("for v in s:  #!\n    y[0] = v", "a loop runs over range(...)"),
    "enumerate": ("for i in enumerate(x):  #!\n    y[0] = 1", "enumerate() gives two values"),
    "range of nothing": ("for i in range():  #!\n    x[i] = 1", "one to three arguments"),
    "range of four": ("for i in range(1, 2, 3, 4):  #!\n    x[i] = 1", "one to three arguments"),
    "range of a float": ("for i in range(1.5):  #!\n    x[i] = 1", "an index must be an integer"),
    "range of f32": ("for i in range(s):  #!\n    x[i] = 1", "an index must be an integer"),
    "step 0": ("for i in range(0, N, 0):  #!\n    x[i] = 1", "the step of a loop is not 0"),
    "step unknown": ("for i in range(0, N, s):  #!\n    x[i] = 1", "an index must be an integer, got f32"),
    "range by name": ("for i in range(start=0, stop=N):  #!\n    x[i] = 1", "a loop runs over range(...)"),
    "two variables": ("for i, j in range(N):  #!\n    x[i] = 1", "a loop variable is a name"),
    "element as variable": ("for n[0] in range(N):  #!\n    pass", "a loop variable is a name"),
    "array as variable": ("for x in range(N):  #!\n    y[x] = 1", "'x' is an array"),
    "grid of too few": ("for i in lm.grid(M, N):  #!\n    x[0] = 1", "2 sizes need as many loop variables, got 1"),
    "grid of nothing": ("for i in lm.grid():  #!\n    x[0] = 1", "0 sizes need as many loop variables"),
    "forever": ("while True:  #!\n    x[0] = 1", "this condition is always True"),
    "a name too few": ("t, u = 1  #!", "as many values as targets"),
    "a value too few": ("t, u = 1, 2, 3  #!", "3 values need as many targets"),
    "attribute": ("x.size = 1  #!", "kernels assign to variables and to elements"),
    "array": ("x = 1  #!", "'x' is an array: assign to its elements"),
    "array to a name": ("t = 1\nt = x  #!", "'t' is a number before"),
    "array updated": ("x += 1  #!", "is an array and no value here"),
    "size": ("N = 3  #!", "'N' is a size"),
    "no value": ("t: lm.f32  #!", "give the variable a value"),
    "annotation": ("t: str = 1  #!", "variables are annotated with lm.f32"),
    "annotated": ("t: lm.i64 = 1.5  #!", "'t' is i64 and becomes float"),
}

EXPRESSIONS = {
    "text": ("x[0] = TEXT  #!", "'TEXT' is a str: only numbers"),
    "text literal": ("x[0] = 'a'  #!", "kernels have numbers only"),
    "complex": ("x[0] = 1j  #!", "a complex number goes into 'x', an array of real ones"),
    "complex order": ("b[0] = 1j < 2  #!", "is complex, which this does not take"),
    "becomes complex": ("t = 1.0\nt = t * 1j  #!", "'t' is real and becomes complex"),
    "none": ("x[0] = None  #!", "kernels have numbers only"),
    "lambda": ("x[0] = lambda v: v  #!", "a function gets a name"),
    "list": ("x[0] = [1, 2]  #!", "an element of an array is a number, not a tuple"),
    "list comprehension": ("t = [v for v in range(3)]  #!", "kernels have no list comprehensions"),
    "generator": ("t = sum(v for v in range(3))  #!", "sum"),
    "dict": ("t = {1: 2}  #!", "kernels have no dicts"),
    "set": ("t = {1, 2}  #!", "kernels have no sets"),
    "tuple": ("x[0] = (1, 2)  #!", "an element of an array is a number, not a tuple"),
    "inner tuple": ("x[0] = (1, 2)[2]  #!", "a tuple of 2 items has none at 2"),
    "walrus": ("x[0] = s if s > 0 else (t := 1)  #!", "an assignment expression stands where it is always evaluated"),
    "f-string": ("t = f'{q}'  #!", "kernels have no strings"),
    "yield": ("t = yield  #!", "kernels have no yield"),
    "matmul": ("x[0] = A @ A  #!", "kernels have no operator @"),
    "in": ("b[0] = q in x  #!", "'in' takes a tuple of numbers"),
    "is": ("b[0] = q is s  #!", "kernels have no 'is'"),
    "unknown name": ("x[0] = unknown  #!", "unknown name 'unknown'"),
    "unknown attribute": ("x[0] = math.unknown  #!", "math"),
    "attribute of an array": ("x[0] = x.strides  #!", "arrays have no attribute 'strides'"),
    "attribute of a number": ("x[0] = s.size  #!", "unknown attribute 's.size'"),
    "shape": ("x[0] = A.shape + 1  #!", "'A.shape' is a tuple and no value here"),
    "shape too far": ("x[0] = A.shape[2]  #!", "a shape of 2 items has none at 2"),
    "shape unknown": ("x[0] = A.shape[q]  #!", "a shape of 2 items has none at q"),
    "unknown function": ("x[0] = unknown(1)  #!", "unknown function 'unknown'"),
    "Python function": ("x[0] = endless(1)  # the line of the function called", "'endless' calls itself"),
    "NumPy function": ("x[0] = np.cumsum(s)  #!", "'np.cumsum' is no function that kernels can call"),
    "NumPy array": ("t = np.zeros(3, str)  #!", "the element type is one of"),
    "input": ("input(x[0])  #!", "'input' is no function"),
    "method": ("x[0] = x.std()  #!", "arrays have no methods"),
    "call of a number": ("x[0] = s(1)  #!", "unknown function 's'"),
    "function as a value": ("x[0] = math.sin  #!", "only numbers, and arrays and tuples of numbers"),
    "too many arguments": ("x[0] = math.sin(1, 2)  #!", "does not take 2 arguments"),
    "NumPy's max": ("x[0] = np.max(s, q)  #!", "'np.max' is no function"),
    "rounded to digits": ("x[0] = round(s, 2)  #!", "does not take 2 arguments"),
    "rounded NaN": ("n[0] = round(math.nan)  #!", "cannot convert float NaN to integer"),
    "too large to convert": ("m[0] = lm.i32(10**10)  #!", "10000000000 does not fit i32"),
    "too few arguments": ("x[0] = max(s)  #!", "does not take 1 arguments"),
    "keyword": ("x[0] = round(s, ndigits=2)  #!", "takes positional arguments"),
    "starred argument": ("x[0] = max(*s)  #!", "'s' is no tuple"),
    "len of a number": ("x[0] = len(s)  #!", "len() takes an array"),
    "len of a list": ("x[0] = len(TEXT)  #!", "len() takes an array or a tuple"),
    "conversion of two": ("x[0] = lm.f32(1, 2)  #!", "a conversion takes one value"),
    "outside array": ("x[0] = WEIGHTS[3]  #!", "index 3 of dim 0 of WEIGHTS is out of bounds"),
    "outside list": ("x[0] = TABLE[3]  #!", "a tuple of 3 items has none at 3"),
    "array value": ("x[0] = y  #!", "'y' is an array and no value here"),
    "array sum": ("x[0] = s + y  #!", "'y' is an array and no value here"),
    "kernel value": ("x[0] = fill(y, s)  #!", "returns nothing: call it in a statement"),
    "negative power": ("n[0] = q ** -1  #!", "number from 0 to 16 as exponent"),
    "bits of floats": ("x[0] = s & 1  #!", "& needs integers"),
    "inverted float": ("x[0] = ~s  #!", "~ needs an integer"),
    "divided by 0": ("x[0] = 1 / 0  #!", "division by zero"),
    "domain": ("x[0] = math.sqrt(-1)  #!", "math domain error"),
    "too large for i32": ("m[0] = m[0] + 3000000000  #!", "3000000000 does not fit i32"),
    "too large for i64": ("n[0] = 2 ** 64  #!", "does not fit i64"),
    "too large for f32": ("x[0] = HUGE * s  #!", "too large"),
    "float into integers": ("n[0] = 1.5  #!", "a float goes into 'n', an array of integers"),
    "f32 into integers": ("n[0] = x[0]  #!", "a float goes into 'n', an array of integers"),
    "integers halved": ("n[0] /= 2  #!", "a float goes into 'n', an array of integers"),
    "float into bools": ("b[0] = s  #!", "a float goes into 'b'"),
}

ACCESSES = {
    "slice": ("x[0] = y[0:2]  #!", "'y' is an array and no value here"),
    "slice stored": ("x[1:] = y  #!", "must be equal for all sizes"),
    "half a slice": ("A[0, ::-1] = 1  #!", "the step of a slice is a positive number"),
    "two brackets": ("x[0][1] = 1  #!", "'x[0]' is no array of this kernel"),
    "two brackets read": ("x[0] = A[0][1][2]  #!", "'A[0][1]' is no array of this kernel"),
    "too few indices": ("x[0] = A[0]  #!", "'A' is an array and no value here"),
    "too many indices": ("x[0, 1] = 1  #!", "'x' has 1 dims and takes as many indices, got 2"),
    "negative": ("t = lm.zeros(3)\nt[-4] = 1  #!", "index -1 of dim 0 of t is out of bounds"),
    "float index": ("x[1.0] = 1  #!", "an index must be an integer, got float"),
    "f32 index": ("x[s] = 1  #!", "an index must be an integer, got f32"),
    "bool index": ("x[b[0]] = 1  #!", "an index must be an integer, got bool"),
    "True": ("x[True] = 1  #!", "an index must be an integer, got bool"),
    "comparison": ("x[q > 0] = 1  #!", "an index must be an integer, got bool"),
    "an array twice": ("t = lm.zeros(3)\nt = lm.zeros(4)  #!", "'t' is an array before"),
    "number subscripted": ("s[0] = 1  #!", "'s' is no array of this kernel"),
    "size subscripted": ("x[0] = N[0]  #!", "'N' is no array of this kernel"),
    "beyond the end": ("for i in range(N):\n    x[i] = y[i + 1]  #!", "index 1 of dim 0 of y is out of bounds at i=0 with N=1"),
    "before the start": ("for i in range(N):\n    x[i - 1] = 1  #!", "index -1 of dim 0 of x is out of bounds at i=0"),
    "at the size": ("x[N] = 1  #!", "of dim 0 of x is out of bounds"),
    "of a fixed size": ("t = lm.zeros((2, 3), lm.f32)\nt[1, 3] = 1  #!", "index 3 of dim 1 of t is out of bounds"),
    "of the other dim": (
        "for i in range(M):\n    for j in range(N + 1):\n        A[i, j] = 1  #!",
        "dim 1 of A is out of bounds",
    ),
    "local list": ("t = lm.zeros([2, s])  #!", "an index must be an integer"),
    "local size": ("t = lm.zeros(-1)  #!", "a size is not negative"),
    "local too large": ("t = lm.zeros(2**62)  #!", "a local array of 18446744073709551616 bytes is too large"),
    "beyond 64 bits": ("x[10**20] = 1  #!", "an index has 64 bits"),
    "product beyond 64 bits": ("for i in range(N):\n    x[i * 2**40 * 2**40] = 1  #!", "an index has 64 bits"),
    "local float size": ("t = lm.zeros(1.5)  #!", "an index must be an integer"),
    "local type": ("t = lm.zeros(3, bytes)  #!", "the element type is one of"),
    "local nothing": ("t = lm.zeros()  #!", "a local array takes its shape and an element type"),
    "local keyword": ("t = lm.zeros(3, order=1)  #!", "a local array takes its shape and an element type"),
    "local without a name": ("x[0] = lm.zeros(3)  #!", "a local array gets a name"),
    "local twice": ("t = u = lm.zeros(3)  #!", "one name a local array"),
    "local over a number": ("t = 1\nt = lm.zeros(3)  #!", "'t' is a number before"),
    "number over a local": ("t = lm.zeros(3)\nt = 1  #!", "'t' is an array: assign to its elements"),
    "local again": ("t = lm.zeros(3)\nfor i in range(3):\n    x[i] = t[0]\n    t = lm.zeros(3)  #!", "'t'"),
}

VARIABLES = {
    "before assignment": ("x[0] = t  #!\nt = 1", "'t' is used before it is assigned"),
    "updated first": ("t += 1  #!", "'t' is used before it is assigned"),
    "one way": ("if N > 1:\n    t = 1\nx[0] = t  #!", "'t' has no value on one of the ways"),
    "other way": ("if N > 1:\n    x[0] = 1\nelse:\n    t = 1\nx[0] = t  #!", "'t' has no value on one of the ways"),
    "array of one way": ("if N > 1:\n    t = lm.zeros(3)\nx[0] = t[0]  #!", "'t' has no value on one of the ways"),
    "array after the loop": (
        "for i in range(N):\n    t = lm.zeros(3)\nx[0] = t[0]  #!",
        "'t' has a value only inside the loop",
    ),
    "assigned loop variable": ("for i in range(N):  #!\n    i = i + 1\n    x[0] = i", "'i'"),
    "type of a branch": ("t = 1\nif N > 1:  #!\n    t = x[0]\nelse:\n    t = d[0]", "'t' is f32 and becomes f64"),
    "type of a loop": ("t = x[0]\nfor i in range(N):\n    t = t * 0.5 + d[i]  #!\ny[0] = t", "'t' is f32 and becomes f64"),
    "integer to float": ("t = n[0]\nfor i in range(N):\n    t = t * 0.5  #!\ny[0] = t", "'t' is i64 and becomes f64"),
    "of a while": ("t = x[0]\nwhile t < 3:\n    t = t + d[0]  #!\ny[0] = t", "'t' is f32 and becomes f64"),
    "reduction": ("t = n[0]\nfor i in range(N):  #!\n    t += x[i]\ny[0] = t", "'t' is i64 and becomes"),
    "bool to number": ("t = b[0]\nif N > 1:\n    t = 2  #!\nx[0] = t", "'t' is bool_ and becomes int"),
}

PARALLEL = {
    "carries": ("t = 0.0\nfor i in lm.parallel(N):  #!\n    t += x[i]", "a parallel loop cannot carry 't'"),
    "same element": ("for i in lm.parallel(N):  #!\n    x[0] = y[i]", "iterations i=0 and i=1 both write x[0]"),
    "neighbour": (
        "for i in lm.parallel(1, N):  #!\n    x[i] = x[i - 1]",
        "iteration i=1 writes x[1] and iteration i=2 reads it",
    ),
    "unknown": ("for i in lm.parallel(N):  #!\n    x[n[i]] = 1", "cannot decide whether the iterations"),
    "shared array": (
        "t = lm.zeros(3)\nfor i in lm.parallel(N):  #!\n    t[0] = x[i]\n    y[i] = t[0]",
        "the iterations of a parallel loop depend on each other",
    ),
}

CALLS = {
    "too few arguments": ("fill(x)  #!", "kernel 'fill' takes 2 arguments, z, v: missing a required argument: 'v'"),
    "keywords": ("fill(x, w=1)  #!", "kernel 'fill' takes 2 arguments, z, v"),
    "starred": ("fill(*TABLE)  #!", "too many positional arguments"),
    "number for an array": ("fill(s, 1)  #!", "parameter 'z' of kernel 'fill' takes an array"),
    "array for a number": ("fill(x, y)  #!", "parameter 'v' of kernel 'fill' takes a number, not 'y'"),
    "element type": ("fill(n, 1)  #!", "parameter 'z' of kernel 'fill' takes"),
    "rank": ("fill(A, 1)  #!", "parameter 'z' of kernel 'fill' takes"),
    "sizes": ("t = lm.zeros(N + 1)\ncopy(x, t)  #!", "cannot be proved that dim 0 of 't' has size L"),
    "number as size": ("first(x, 1)  #!", "cannot be proved that dim 0 of 'x' has size 4"),
    "float for an integer": ("t = lm.zeros(4)\nfirst(t, 1.5)  #!", "parameter 'v' of kernel 'first'"),
    "f32 for an integer": ("t = lm.zeros(4)\nfirst(t, s)  #!", "parameter 'v' of kernel 'first'"),
    "recursion": ("around(x)  # the line of the kernel called", "'around' calls itself"),
}

ROWS = {
    f"{group}: {name}": row
    for group, rows in (
        ("statement", STATEMENTS), ("expression", EXPRESSIONS), ("access", ACCESSES), ("variable", VARIABLES),
        ("parallel", PARALLEL), ("call", CALLS),
    )
    for name, row in rows.items()
}  # fmt: skip


@pytest.mark.parametrize("name", list(ROWS))
def test_refused_at_its_line(name: str, tmp_path: Path) -> None:
    text, message = body(ROWS[name][0]), ROWS[name][1]
    said, line = refusal(tmp_path, text)
    assert message in said
    marked = [k for k, one in enumerate(text.split("\n"), 1) if one.endswith("#!")]
    if marked:
        assert line == marked[0], said
        assert f":{line}:" in said
        assert text.split("\n")[line - 1].strip() in said  # the source line is shown
        assert said.split("\n")[-1].strip() == "^"


HEADERS = {
    "star-args": ("def k(*x: lm.f32['N']):\n    pass", "plain: no *"),
    "star-kwargs": ("def k(**x: lm.f32['N']):\n    pass", "plain: no *"),
    "keyword-only": ("def k(*, x: lm.f32['N']):\n    pass", "plain: no *"),
    "default": ("def k(x: lm.f32 = 'a'):\n    pass", "the default of a parameter is a number"),
    "no annotation": ("def k(x):\n    pass", "parameter 'x' needs a type"),
    "other annotation": ("def k(x: str):\n    pass", "parameter 'x' needs a type: lm.f32['M', 'N'] for an array"),
    "array annotation": ("def k(x: np.ndarray):\n    pass", "parameter 'x' needs a type"),
    "text": ("def k(x: 'lm.f32[N]'):\n    pass", "cannot read the annotation of 'x'"),
    "unknown text": ("def k(x: 'lm.f128'):\n    pass", "cannot read the annotation of 'x'"),
    "size text": ("def k(x: 'lm.f32[\"N * M\"]'):\n    pass", "a size must be a number, a name, or a sum of names"),
    "complex number": ("def k(z: lm.complex64):\n    pass", "parameter 'z' is a complex number: pass its parts"),
    "open sizes": ("def k(x: lm.f32['N + M']):\n    pass", "the size of dim 0 of 'x' is N + M, and no array says"),
    "parameter and size": ("def k(N: lm.i64, x: lm.f32['N']):\n    pass", "'N' is both a parameter and a size"),
    "threads": ("def k(threads: lm.i64):\n    pass", "'threads' is a keyword of every call"),
    "not ASCII": ("def k(größe: lm.f32['N']):\n    pass", "names of parameters and sizes are ASCII"),
    "numbered": ("def k(x_1: lm.f32['N']):\n    pass", "no '_' and digits at their end"),
    "async": ("async def k(x: lm.f32['N']):\n    pass", "a kernel is a function defined by def"),
}


@pytest.mark.parametrize("name", list(HEADERS))
def test_refused_parameters(name: str, tmp_path: Path) -> None:
    text, message = HEADERS[name]
    said, line = refusal(tmp_path, f"import numpy as np\nimport lamina as lm\n{text}\n")
    assert message in said
    assert line == 3


def test_a_call_deeper_down_names_the_line_of_the_kernel_called(tmp_path: Path) -> None:
    text = body("fill(x, 1)\nbad(x)").replace("def k(", "@lm.kernel\ndef bad(z: lm.f32['L']):\n    z[0] = z[0:1]\n\n\ndef k(")
    said, line = refusal(tmp_path, text)
    assert "'x' is an array and no value here" in said
    assert text.split("\n")[line - 1].strip() == "z[0] = z[0:1]"


def test_a_fault_of_a_kernel_called_from_another_file(tmp_path: Path) -> None:
    other = load(
        tmp_path, "import lamina as lm\n\n@lm.kernel\ndef far(z: lm.f32['L']):\n    for i in range(L):\n        z[i + 1] = 0\n"
    )
    sys.modules[other.__name__] = other
    try:
        module = load(tmp_path, f"import lamina as lm\nfrom {other.__name__} import far\ndef k(x: lm.f32['N']):\n    far(x)\n")
        with pytest.raises(KernelError, match="index 1 of dim 0 of x is out of bounds") as caught:
            build_kernel(module.k)
        assert caught.value.place[:2] == (other.__file__, 6)  # pyright: ignore[reportAttributeAccessIssue]
    finally:
        del sys.modules[other.__name__]


def test_without_source() -> None:
    names: dict[str, Any] = {"lm": lm}
    exec("def k(x: lm.f32['N']):\n    pass", names)
    with pytest.raises(KernelError, match="kernel 'k' has no source to read"):
        build_kernel(names["k"])


@pytest.mark.parametrize(
    "text", ["import sys\n", "def other(x):\n    pass\n", "def k(x, y):\n    pass\n", "class k:\n    pass\n"]
)
def test_the_source_of_something_else(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another text may bear the name of the one that a function was compiled from."""
    name, names = "<another text>", {"lm": lm}
    exec(compile("def k(x: lm.f32['N']):\n    pass", name, "exec"), names)
    monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(keepends=True), name))
    with pytest.raises(KernelError, match="kernel 'k' has no source to read"):
        build_kernel(names["k"])


@pytest.mark.parametrize("thing", [len, 3, lm.f32, np.exp, KernelError], ids=str)
def test_no_function(thing: Any) -> None:
    with pytest.raises(KernelError, match="function defined by def"):
        build_kernel(thing)


def test_nested_too_deeply(tmp_path: Path) -> None:
    said, line = refusal(tmp_path, body("x[0] = " + " + ".join(["s"] * 900)))
    assert "kernel 'k' is nested too deeply" in said and line == HEAD.count("\n") - 1


def test_many_loops_take_no_time(tmp_path: Path) -> None:
    """Loops are read on trial to find the types of variables: not again and again for the loops around."""
    lines = ["t, u = 0.0, 0"] + [f"{'    ' * k}for i{k} in range(2):" for k in range(16)]
    text = body("\n".join([*lines, f"{'    ' * 16}t, u = t * 0.5 + u, u + 1", "x[0] = t"]))
    module = load(tmp_path, text)
    start = time.process_time()
    build_kernel(module.k)
    assert time.process_time() - start < 20  # 0.2 s; reading all twice would take minutes


def test_errors_come_at_each_call_and_leave_arrays_alone(tmp_path: Path) -> None:
    module = load(tmp_path, body("x[0] = unknown"))
    kernel = lm.kernel(module.k)
    for call in (kernel, kernel.schedule, kernel.compile, kernel.as_text, lambda: kernel.module, lambda: kernel.signature):
        for _ in range(2):
            with pytest.raises(KernelError, match="unknown name 'unknown'"):
                call()


# -- whatever is written, nothing but a KernelError comes out

VALID = """\
t, u = 0.0, 1
best = -math.inf
w = lm.zeros((4, N), lm.f32)
for i in range(1, N):
    for j in range(min(i, 4)):
        w[j, i] += x[i - 1] * y[i] + s
        t += w[j, i - 1]
    if x[i] > 0.5 and n[i] % 3 == 1:
        u = u * 3 % 7
        y[i] = x[i - 1] if i > 1 else 2.5
    elif not b[i]:
        y[i] = np.exp(-abs(x[i])) + math.floor(d[i]) // 2
    else:
        n[i] = (n[i] << 2) ^ ~i
    best = max(best, x[i])
k2 = q
while k2 > 0 and n[0] != 3:
    k2 -= 1
    n[0] = int(x[0] * 2.0) + len(x) - A.shape[1]
for p in lm.parallel(M):
    for r in range(N - 1, -1, -1):
        A[p, r] = A[p, r] ** 2 + lm.f32(m[r]) / (r + 1)
fill(x, t + u)
for a, c in lm.grid(A.shape):
    A[a, c] -= best
"""


STRANGE = """\
None|'a'|x|A|unknown|-1|1.5|True|10**30|2**70|1e400|()|x.shape|lm|math.pi|lm.zeros(3)|x[0]|A[0, 0]|n[n[0]]|i|N|max|[1]|(1, 2)|\
lambda: 0|b[0]|fill|...|1 if b[0] else 2.0|min(N, 3)|x[0] > 1 > N|int(s)|s|-N|N * N|1j|not 1|A.shape[0]|HUGE|-HUGE|math.inf|\
math.nan|int(math.inf)|round(math.nan)|x[0].real|math.sin|N.x|np.float32(2**200)|lm.i32(10**20)|\
~True|-b[0]|abs(b[0])|(~q)**2|1 < 2|"""
STRANGE_STATEMENTS = """\
break|continue|return 1|pass|global N|t = 1.5|u = x|x = 1|i = 0|N = 3|del t|w = lm.zeros(N)|t: lm.f64 = 1|t = u = 3|\
u, t = t, u|x[0] = n[0] / 2|fill(y, n[0])|for i in range(3): t = i|t|assert t|\
while t < 1: t += 1|if b[0]: t = 1|x[:] = 0|A[0][0] = 1|\
t += u * best|u //= 0|for x in range(3): pass|for i in lm.grid(x.shape): u += i|k2 = k2 + 0.5|t = best if u > 1 else 0|\
for _ in range(-3): pass|k()|best = HUGE|u = 2**63|for i in range(10**30): x[0] = i|t = lm.zeros(10**20)|t = lm.zeros((3, -N))|\
t = fill|t = max|lm.zeros(3)|around(x)|for i in lm.parallel(0, N, -1): y[i] = 1|while n[0]: pass|u @= u|t **= u|u <<= t|\
u = u if u else 1|t = b[0] + b[0]|t = -b[0]|for i, j in lm.grid(A): pass|for i in range(x): pass|u: int = 3|t = (best := 3)"""


def mutate(tree: ast.Module, rng: random.Random) -> None:
    """Change the body of the last function in one place."""
    function = tree.body[-1]
    assert isinstance(function, ast.FunctionDef)
    nodes = [n for s in function.body for n in ast.walk(s)]
    statements = [n for n in nodes if isinstance(n, ast.stmt)]
    expressions = [n for n in nodes if isinstance(n, ast.expr) and isinstance(getattr(n, "ctx", ast.Load()), ast.Load)]
    blocks = [function.body, *(n.body for n in statements if isinstance(n, ast.For | ast.While | ast.If))]
    block = rng.choice(blocks)
    kind = rng.randrange(7)
    if kind == 0:
        replace(function, rng.choice(expressions), copy.deepcopy(rng.choice(expressions)))
    elif kind == 1:
        replace(function, rng.choice(expressions), ast.parse(rng.choice(STRANGE.split("|")) or "0", mode="eval").body)
    elif kind == 2:
        names = [n for n in nodes if isinstance(n, ast.Name)]
        rng.choice(names).id = rng.choice(names).id
    elif kind == 3:
        operators = [ast.Add, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.BitOr, ast.MatMult]
        rng.choice([n for n in nodes if isinstance(n, ast.BinOp | ast.AugAssign)]).op = rng.choice(operators)()
    elif kind == 4:
        block.insert(rng.randrange(len(block) + 1), copy.deepcopy(rng.choice(statements)))
    elif kind == 5:
        block.insert(rng.randrange(len(block) + 1), ast.parse(rng.choice(STRANGE_STATEMENTS.split("|"))).body[0])
    elif len(block) > 1:
        block.pop(rng.randrange(len(block)))


def replace(root: ast.AST, one: ast.expr, other: ast.expr) -> None:
    """Replace an expression by another."""
    for node in ast.walk(root):
        for field, value in ast.iter_fields(node):
            if value is one:
                setattr(node, field, other)
            elif isinstance(value, list) and one in value:
                value[value.index(one)] = other


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_mutated_sources(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    valid = ast.parse(body(VALID))
    build_kernel(load(tmp_path, ast.unparse(valid)).k)
    outcomes = {True: 0, False: 0}
    texts = []
    while len(texts) < 60:
        tree = copy.deepcopy(valid)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            mutate(tree, rng)
        try:
            with warnings.catch_warnings(action="ignore"):
                text = ast.unparse(ast.fix_missing_locations(tree))
                compile(text, "?", "exec")
        except (SyntaxError, ValueError):
            continue
        texts.append(text)
    for text in texts:
        with warnings.catch_warnings(action="ignore"):
            module = load(tmp_path, text)
        try:
            built = build_kernel(module.k, check_bounds=rng.random() < 0.5)
        except KernelError as error:
            assert error.place is not None and str(error).endswith("^")  # pyright: ignore[reportAttributeAccessIssue]
            outcomes[False] += 1
        else:
            built.verify()
            kernel_signature_of(find_kernel(built))
            outcomes[True] += 1
    assert min(outcomes.values()) > 5
