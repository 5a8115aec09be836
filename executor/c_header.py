"""The header of C and C++ for an object: prototypes with the meaning of each pointer, error codes, and element types."""

from __future__ import annotations

from collections.abc import Iterable

from ..codegen.exports.interface import MESSAGES, Export, Interface, c_name
from ..codegen.standalone import ANCHOR
from ..dialects.element_types import TABLE, ElementType, Kind
from ..runtime.signature import ArrayParam, Param

_ROWS: dict[str, ElementType] = {str(row.dtype): row for row in TABLE}
_COMPILERS_OWN = {"float16": ("__FLT16_MANT_DIG__", "_Float16"), "bfloat16": ("__BFLT16_MANT_DIG__", "__bf16")}
"""Types that some compilers have: the macro that says so, and the name."""
_SHORT = {"float16": "f16", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128", "int4": "i4", "uint4": "u4"}


def header(
    interface: Interface, stem: str, *, source: str = "", finds_openmp: bool = False, weights_file: str | None = None
) -> str:
    """The text of a header.

    Args:
        stem: of its file name, for the guard.
        source: the source of the object, for the first line.
        weights_file: the name of the file of weights, if they are in one.
        finds_openmp: whether a program that includes it and is compiled with `-fopenmp` is linked with the runtime.
    """
    guard = "".join(c if c.isascii() and c.isalnum() else "_" for c in stem.upper()) + "_H"
    guard = f"H_{guard}" if guard[0].isdigit() or guard[0] == "_" else guard
    dtypes = {param.dtype for export in interface.exports for param in export.arrays}
    lines = [f"/* {_comment(source)}{', '.join(t.name for t in interface.targets)}. Written by lamina. */"]
    lines += [f"#ifndef {guard}", f"#define {guard}", "#include <stdbool.h>", "#include <stdint.h>", *_types(dtypes)]
    lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", "", *_statuses(interface), ""]
    for export in interface.exports:
        lines += [*_function(export, interface), ""]
    lines += [
        "/* What a status means. */",
        f"const char *{interface.strerror}(int status);",
        "/* The instruction set of this processor that functions use; null if the object has none that it knows. */",
        f"const char *{interface.isa}(void);",
        "",
    ]
    if weights_file is not None:
        lines += [
            f"/* Give the contents of {_comment(weights_file)}, before any function is called: they are copied. */",
            f"int {interface.weights}(const void *data, int64_t bytes);",
            "",
        ]
    if finds_openmp:
        lines += [ANCHOR.format(name=f"{interface.prefix}_openmp"), ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def _statuses(interface: Interface) -> list[str]:
    upper = interface.prefix.upper()
    lines = [f"enum {interface.prefix}_status {{"]
    for status, message in MESSAGES.items():
        lines.append(f"  {upper}_{status.name} = {int(status)}, /* {message} */")
    return [*lines, "};"]


def _types(dtypes: Iterable[str]) -> list[str]:
    """Definitions of the element types that C has no name for; every header of ours has the same."""
    lines: list[str] = []
    for dtype in sorted(dtypes):
        row = _ROWS[dtype]
        name = c_type(dtype)
        if row.kind is Kind.COMPLEX:
            part = row.c.split()[0]
            definition = ["#ifdef __cplusplus", "#include <complex>", f"typedef std::complex<{part}> {name};", "#else"]
            definition += [f"typedef {row.c} {name};", "#endif"]
        elif row.is_stored:
            definition = [f"typedef {row.c} {name}; /* {_SHORT.get(dtype, dtype)}: {_meaning(row)} */"]
            if dtype in _COMPILERS_OWN:
                macro, own = _COMPILERS_OWN[dtype]
                test = f"#if defined({macro}) && !defined(LAMINA_BITS) /* the compiler has the type; LAMINA_BITS: integers */"
                definition = [test, f"typedef {own} {name};", "#else", *definition, "#endif"]
        else:
            continue
        macro = f"{name.upper()}_DEFINED"
        lines += [f"#ifndef {macro}", f"#define {macro}", *definition, "#endif"]
    return lines


def _meaning(row: ElementType) -> str:
    bits = 4 if row.dtype.name in ("int4", "uint4") else 8 * row.dtype.itemsize
    return "an integer of 4 bits in a byte" if bits == 4 else f"the bits of {row.name}"


def c_type(dtype: str) -> str:
    """The type of an element in C."""
    row = _ROWS[dtype]
    if row.is_stored or row.kind is Kind.COMPLEX:
        return f"lamina_{_SHORT.get(dtype, dtype.replace('float8_', 'f8'))}"
    return row.c


def _function(export: Export, interface: Interface) -> list[str]:
    """The comment and the prototypes of a function."""
    taken = {"arena", "arena_bytes", "threads"}
    sizes = {name: c_name(name, taken) for name in export.sizes}
    names = [c_name(param.name, taken) for param in export.arrays]
    n_params = len(export.signature.params)
    kind = "kernel" if export.is_kernel else "function"
    lines = [f"/* {export.symbol}: {kind} @{_comment(export.name)}"]
    parameters: list[str] = []
    for k, (name, param) in enumerate(zip(names, export.arrays, strict=True)):
        writes = k >= n_params or (isinstance(param, ArrayParam) and param.writes)
        lines.append(f" *   {name}: {_described(export, param, writes, is_result=k >= n_params)}")
        lines += [
            f" *     may be the same array as {names[arg]}"
            for result, arg in export.signature.donations
            if result == k - n_params
        ]
        pointer = f"{'' if writes else 'const '}{c_type(param.dtype)} *{name}"
        parameters.append(pointer if isinstance(param, ArrayParam) else f"{c_type(param.dtype)} {name}")
    lines += [f" *   {sizes[said.partition(' ')[0]]}: {said.partition(' ')[2]}" for said in _bounds(export)]
    arena_parameters = ", ".join(f"int64_t {name}" for name in sizes.values()) or "void"
    parameters += [f"int64_t {name}" for name in sizes.values()]
    if export.takes_threads:
        parameters.append("int64_t threads")
        lines.append(" *   threads: on how many it runs; 0: the default")
    if export.is_kernel:
        return [*lines, f" */\nint {export.symbol}({', '.join(parameters) or 'void'});"]
    parameters += ["void *arena", "int64_t arena_bytes"]
    needed = f"{export.arena_symbol}({', '.join(sizes.values())})"
    lines += [f" *   arena: scratch memory of the call, aligned to 64 bytes, at least {needed}", " */"]
    lines.append(f"int {export.symbol}({', '.join(parameters)});")
    if export.is_static:
        lines.append(f"#define {export.symbol}_ARENA_BYTES {export.arena_bytes}")
    else:
        lines.append(f"/* Negative if the sizes are none: -{interface.prefix.upper()}_BAD_SIZE. */")
    return [*lines, f"int64_t {export.arena_symbol}({arena_parameters});"]


def _described(export: Export, param: Param, writes: bool, *, is_result: bool) -> str:
    what = f"{param.dtype}"
    if not isinstance(param, ArrayParam):
        return what
    sizes, strides = export.spelled(param)
    if sizes:
        what += f"[{', '.join(sizes)}]"
    layout = "row-major without gaps" if strides is None else f"in steps of {', '.join(strides) or 'nothing'} elements"
    access = "written" if is_result else "read and written" if writes else "read"
    return f"{_comment(what)}, {layout}, {access}" if sizes else f"{what}, one element, {access}"


def _bounds(export: Export) -> list[str]:
    """The constraints on sizes beyond not being negative, each with its name first."""
    from ..runtime.signature import is_symbol

    found = []
    for size in export.signature.meant_sizes:
        if is_symbol(size):
            (symbol,) = size.symbols
            said = symbol.spell()
            if said != symbol.name:
                found.append(said)
    return found


def _comment(text: str) -> str:
    """A text that ends no comment of C."""
    return "".join(c if c.isprintable() else "?" for c in text).replace("*/", "* /").replace("/*", "/ *")
