"""LLVM IR in lamina-run: text of `lamina-compile`, which has the signatures of its functions, and any other text, which has
not.

Code in this process could call any of its functions. So text may name only functions that compiled code calls itself, unless
its user trusts it. This is not a security boundary: running code can write anywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import CompileError
from .arguments import UsageError

Arrays = tuple[np.ndarray, ...]

_MATH = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim floor fma fmax fmin
fmod frexp hypot ldexp lgamma log log10 log1p log2 logb lrint lround llrint llround modf nearbyint nextafter pow powi remainder
rint round roundeven scalbn sin sincos sinh sqrt tan tanh tgamma trunc
""".split()
_MEMORY = "malloc calloc free memcpy memmove memset memcmp bcmp".split()
_OWN = "lamina_parallel GOMP_parallel".split()
_HELPERS = "__extendhfsf2 __truncsfhf2 __truncdfhf2 __gnu_h2f_ieee __gnu_f2h_ieee __truncsfbf2 __truncdfbf2".split()
_INTEGERS = [f"__{op}{size}3" for op in ("div", "udiv", "mod", "umod", "mul") for size in ("ti", "di")]
ALLOWED = frozenset([*(f"{name}{end}" for name in _MATH for end in ("", "f")), *_MEMORY, *_OWN, *_HELPERS, *_INTEGERS])
"""Functions that text may call: those of the C library that compute or give memory, and helpers of compilers."""

_ASSEMBLY = frozenset({"cpuid", "xgetbv"})
"""Inline assembly that text may have: instructions that identify the processor."""
_METADATA = re.compile(r'^@[\w.$-]+_lamina_metadata = constant \[\d+ x i8\] c"([^"\n]*)", align 16$', re.MULTILINE)


def of_llvm(
    text: str, entry: str, values: list[Any], results: list[str] | None, *, trust: bool = False
) -> tuple[Callable[..., Arrays], list[np.ndarray]]:
    """A function of LLVM IR and its arguments; the text goes through a child process first.

    Args:
        results: the types of the results, as `2x3xf32`: of text that does not say them itself.
        trust: whether the text may call any function of the process.

    Raises:
        CompileError: the text is not valid, is for another machine, or names a forbidden function.
    """
    from ..codegen.compile import compile_object
    from ..codegen.standalone import with_runtime

    text = with_runtime(text)
    _check_target(text)
    described = _description(text)
    if described is None and results is None:
        raise UsageError("LLVM IR does not say what a function returns: give --results, for instance --results 2x3xf32")
    inputs = [np.asarray(v) if isinstance(v, np.ndarray) else np.asarray(v, np.float32) for v in values]
    if described is None:
        check_entry(text, entry, len(inputs), len(results or ()))
    compile_object(text, isolated=True)  # LLVM may abort on text that is not ours: find out in another process
    if not trust:
        check_externals(text)
    if described is not None:
        return _of_lamina(text, described, entry, values, results)
    return _of_others(text, entry, inputs, results or []), inputs


def _of_others(text: str, entry: str, inputs: Sequence[np.ndarray], results: Sequence[str]) -> Callable[..., Arrays]:
    """A function with the ABI of docs/architecture.md."""
    from ..codegen.executable import load_executable, object_for
    from ..runtime.callable import Compiled
    from ..runtime.inputs import parse_spec
    from ..runtime.signature import ArrayParam, Signature

    params = tuple(ArrayParam.of_shape(f"arg{k}", str(x.dtype), x.shape) for k, x in enumerate(inputs))
    specs = [parse_spec(spec, spec) for spec in results]
    outputs = tuple(ArrayParam.of_shape(f"result{k}", str(dtype), shape) for k, (dtype, shape) in enumerate(specs))
    signature = Signature(entry, params, outputs, arena_bytes=1 << 20)
    return _in_a_tuple(Compiled(load_executable(signature, object_for(signature, text, entry), entry)))


def _of_lamina(
    text: str, described: dict[str, Any], entry: str, values: Sequence[Any], results: Sequence[str] | None
) -> tuple[Callable[..., Arrays], list[Any]]:
    """A function of text that `lamina-compile` wrote, through its checked entry."""
    from ..codegen.compile import compile_object
    from ..codegen.thread_runtime import load_object
    from ..runtime.inputs import InputError, fit, parse_spec
    from ..runtime.shared_object import ObjectError, SharedObject

    if described["weights"] is not None:
        raise CompileError("the weights are in a file of their own: compile with --weights=embed to run the text")
    symbols = [described["strerror"], described["isa"]]
    for function in described["functions"]:
        symbols += [name for name in (function["symbol"], function["arena"]) if name is not None]
    library = load_object(compile_object(text), symbols)
    try:
        functions = SharedObject("the text", library, [described]).functions
    except ObjectError as error:
        raise CompileError(str(error)) from None
    function = functions.get(entry)
    if function is None:
        raise CompileError(f"no function @{entry} to run; there are: {', '.join(f'@{name}' for name in functions)}")
    if len(values) != len(function.params):
        raise InputError(f"@{entry} takes {len(function.params)} arguments, got {len(values)}: {function}")
    inputs = []
    for param, value in zip(function.params, values, strict=True):
        shape = [int(size) if size.isdecimal() else None for size in param.shape]
        array = fit(value, param.name, param.dtype, shape)
        inputs.append(array if param.is_array else array.item())
    said = None if results is None else [parse_spec(spec, spec) for spec in results]
    written = [k for k, param in enumerate(function.params) if param.writes]

    def call(*args: Any) -> Arrays:
        args = tuple(arg.copy() if k in written else arg for k, arg in enumerate(args))
        try:
            found = function(*args)
        except (ObjectError, TypeError, ValueError) as error:
            raise InputError(str(error)) from None
        arrays = tuple(args[k] for k in written) if function.is_kernel else found if isinstance(found, tuple) else (found,)
        if said is not None and said != [(array.dtype, array.shape) for array in arrays]:
            raise InputError(f"--results does not say what @{entry} returns: {function}")
        return arrays

    return call, inputs


def _in_a_tuple(compiled: Callable[..., Any]) -> Callable[..., Arrays]:
    """The results of a function as a tuple, however many they are."""

    def call(*args: np.ndarray) -> Arrays:
        result = compiled(*args)
        return () if result is None else result if isinstance(result, tuple) else (result,)

    return call


def _description(text: str) -> dict[str, Any] | None:
    """The metadata of text of `lamina-compile`; None if it is other text."""
    from ..runtime.shared_object import DIGEST_BYTES, MAGIC

    found = _METADATA.search(text)
    if found is None:
        return None
    data = re.sub(rb"\\([0-9A-Fa-f]{2})", lambda m: bytes([int(m[1], 16)]), found[1].encode("latin-1", "replace"))
    try:
        described = json.loads(data.removeprefix(MAGIC)[DIGEST_BYTES + 12 :])
        return described if described["version"] == 1 and described["functions"] else None
    except (ValueError, KeyError, TypeError):
        return None


_TRIPLE = re.compile(r'^target triple = "([^"\n]*)"', re.MULTILINE)
_CPU = re.compile(r'"target-cpu"="([^"\n]*)"')


def _check_target(text: str) -> None:
    """Text that says for which machine it is runs on no other: its instructions would end the process."""
    from ..codegen.targets import TARGETS
    from ..codegen.targets.base import architecture_of
    from ..codegen.targets.host import detect, why_not_here

    here = detect()
    if (found := _TRIPLE.search(text)) is not None and architecture_of(found[1]) != here.architecture:
        raise CompileError(f"the text is for {architecture_of(found[1])}, this machine is {here.architecture}")
    if "@lamina.chosen" in text:
        return  # which detects the processor itself
    for cpu in dict.fromkeys(_CPU.findall(text)):
        target = TARGETS.get(cpu)
        if target is not None and (reason := why_not_here(target)) is not None:
            raise CompileError(f"the text is for {cpu}, which cannot run here: {reason}")


def check_externals(text: str) -> None:
    """Refuse text that names functions outside of `ALLOWED`, or has assembly of its own.

    Raises:
        CompileError: with the names.
    """
    from ..codegen.compile import external_names, inline_assembly

    names = sorted(name for name in external_names(text) if name not in ALLOWED and not name.startswith("llvm."))
    if names:
        shown = ", ".join(f"@{name}" for name in names[:5]) + (" ..." if len(names) > 5 else "")
        raise CompileError(f"the text calls or reads {shown}, which is not of compiled code: --trust runs it all the same")
    if strange := sorted(set(inline_assembly(text)) - _ASSEMBLY):
        raise CompileError(f"the text has assembly of its own, as {strange[0]!r:.60}: --trust runs it all the same")


def check_entry(text: str, entry: str, n_args: int, n_results: int) -> None:
    """Called with fewer pointers than it takes, a function would write anywhere: compare with its definition first."""
    found: dict[str, int] = {}
    for match in re.finditer(r"^define\b[^@\n]*@(?:\"([^\"\n]*)\"|([\w.$-]+))\(", text, re.M):
        depth, commas, end = 1, 0, match.end()
        while end < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            commas += text[end] == "," and depth == 1
            end += 1
        found[match[1] or match[2]] = commas + 1 if text[match.end() : end - 1].strip() else 0
    if found and entry not in found:
        raise CompileError(f"no function @{entry} to run; there are: {', '.join(f'@{name}' for name in found)}")
    if found.get(entry, n_args + n_results + 1) != n_args + n_results + 1:
        raise CompileError(
            f"@{entry} takes {found[entry]} pointers: it would be given {n_args} arguments, {n_results} results and the arena"
        )
