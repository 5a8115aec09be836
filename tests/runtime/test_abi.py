"""The self-test of the facts that native code relies on, and what happens when one does not hold."""

from __future__ import annotations

import subprocess
import sys

import pytest
from lamina.runtime import abi
from lamina.runtime import callable as calls


def test_supported_here():
    assert abi.unsupported() == ""
    assert calls._works(calls._native_type(calls.FunctionBase))


@pytest.mark.parametrize("field", ["TYPE", "DATA", "NDIM", "DIMS", "STRIDES", "DESCR"])
def test_a_moved_field_is_noticed(monkeypatch, field):
    other = abi.NDARRAY_DATA if field != "DATA" else abi.NDARRAY_DIMS
    if field in ("DIMS", "STRIDES"):  # both point to sizes: exchange the two
        other = abi.NDARRAY_STRIDES if field == "DIMS" else abi.NDARRAY_DIMS
    monkeypatch.setattr(abi, f"NDARRAY_{field}", other)
    assert "not where NumPy 2 has" in abi.unsupported()


def test_moved_flags_are_noticed(monkeypatch):
    monkeypatch.setattr(abi, "NDARRAY_FLAGS", abi.NDARRAY_NDIM)
    assert abi.unsupported()


def test_falls_back_with_one_warning(monkeypatch):
    abi.native_calls.cache_clear()
    monkeypatch.delenv("LAMINA_ENTRY", raising=False)
    monkeypatch.setattr(abi, "NDARRAY_FLAGS", abi.NDARRAY_NDIM)
    try:
        with pytest.warns(RuntimeWarning, match="through ctypes") as caught:
            assert not abi.native_calls()
            assert not abi.native_calls()
        assert len(caught) == 1
        made = calls.function_class(calls.FunctionBase)
        assert made(lambda x: x + 1)(2) == 3
        assert "install" in vars(made) and made.install is calls._install_ctypes
    finally:
        abi.native_calls.cache_clear()


CODE = """
import numpy as np
from lamina.runtime.callable import Compiled, NativeFunction, _install_ctypes
from lamina.runtime.signature import ArrayParam, Signature
from lamina.codegen.executable import load_executable, object_for
p = ArrayParam.of_shape("x", "float32", (1,))
s = Signature("copy", (p,), (p,))
text = '''define void @f(ptr %x, ptr %r, ptr %a) {
  %v = load float, ptr %x
  store float %v, ptr %r
  ret void
}'''
f = Compiled(load_executable(s, object_for(s, text, "f"), "f"))
print(f(np.ones(1, np.float32)), type(f).install is _install_ctypes, f.executables[0].entry is None)
"""


@pytest.mark.parametrize(("setting", "expected"), [("", "[1.] False False"), ("ctypes", "[1.] True True")])
def test_environment_selects_ctypes(setting, expected):
    code = f"import sys, os; sys.path[:] = {sys.path!r}; os.environ['LAMINA_ENTRY'] = {setting!r}\n{CODE}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected
