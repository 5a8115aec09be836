"""Compiled functions from hand-written LLVM IR, called natively and through ctypes."""

from __future__ import annotations

from typing import Any

import pytest
from lamina.codegen.executable import load_executable, native_entry, object_for
from lamina.runtime import callable as calls
from lamina.runtime.executable import Executable
from lamina.runtime.signature import ArrayParam, Signature


class Toolbox:
    """Makes executables; `native` says which of the two call paths is tested."""

    def __init__(self, native: bool):
        self.native = native
        self.NativeFunction = calls.function_class(calls.FunctionBase, native)
        self.Compiled = calls.function_class(calls.CompiledBase, native)

    def executable(self, signature: Signature, text: str) -> Executable:
        loaded = load_executable(signature, object_for(signature, text, "f"), "f")
        return Executable(signature, loaded.library, loaded.host, native_entry() if self.native else None)

    def compiled(self, signature: Signature, text: str) -> Any:
        return self.Compiled(self.executable(signature, text))

    def copies(self, *params: ArrayParam, arena_bytes: int = 0, work: int | None = None, name: str = "copies") -> Any:
        """A function that returns a copy of each argument; it also fills and reads its scratch memory."""
        return self.Compiled(self.copies_executable(*params, arena_bytes=arena_bytes, work=work, name=name))

    def copies_executable(
        self, *params: ArrayParam, arena_bytes: int = 0, work: int | None = None, name: str = "copies"
    ) -> Any:
        results = tuple(ArrayParam.of_shape(f"r{i}", p.dtype, p.shape) for i, p in enumerate(params))
        signature = Signature(name, params, results, arena_bytes, work)
        return self.executable(signature, copies_text(signature))


def copies_text(signature: Signature) -> str:
    count = len(signature.params)
    pointers = [f"ptr noalias %x{i}" for i in range(count)] + [f"ptr noalias %r{i}" for i in range(count)]
    lines = ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"]
    lines.append(f"define void @f({', '.join([*pointers, 'ptr noalias %arena'])}) {{")
    for i, param in enumerate(signature.params):
        size = param.size * param.np_dtype.itemsize
        source = f"%x{i}"
        if size <= signature.arena_bytes:  # through the scratch memory
            lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr %arena, ptr {source}, i64 {size}, i1 false)")
            source = "%arena"
        lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr %r{i}, ptr {source}, i64 {size}, i1 false)")
    return "\n".join([*lines, "  ret void", "}"])


@pytest.fixture(params=["native", "ctypes"])
def tools(request: pytest.FixtureRequest) -> Toolbox:
    return Toolbox(request.param == "native")


@pytest.fixture(scope="session")
def toolbox() -> type[Toolbox]:
    return Toolbox
