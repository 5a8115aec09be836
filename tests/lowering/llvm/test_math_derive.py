"""The coefficient tables are what `derive.py` prints."""

from __future__ import annotations

import sys
from pathlib import Path

import mpmath
import pytest
from lamina.lowering.llvm.math.atan import _ATAN
from lamina.lowering.llvm.math.erfc import _ERF_NEAR_0, _ERFC
from lamina.lowering.llvm.math.exp import EXP
from lamina.lowering.llvm.math.log import _ATANH_F64, _LOG_F32
from lamina.lowering.llvm.math.pow import _LOG2, _LOG2_ATANH
from lamina.lowering.llvm.math.tanh import _ERF, _TANH
from lamina.lowering.llvm.math.trig import _SIN, _TAN

sys.path.insert(0, str(Path(__file__).parent))
import derive

TABLES = {
    "atan": (_ATAN["float"], _ATAN["double"]),
    "atanh": (None, _ATANH_F64),
    "erf_f32": (_ERF["float"], None),
    "erf_f64": (None, _ERF["double"]),
    "erf_near_0": (_ERF_NEAR_0["float"], _ERF_NEAR_0["double"]),
    "erfc_f32": (_ERFC["float"], None),
    "erfc_f64": (None, _ERFC["double"]),
    "exp": (EXP["float"], EXP["double"]),
    "log": (_LOG_F32, None),
    "log2": (None, _LOG2),
    "log2_atanh": (None, _LOG2_ATANH),
    "sin": (_SIN["float"], _SIN["double"]),
    "tan": (_TAN["float"], _TAN["double"]),
    "tanh": (_TANH["float"], _TANH["double"]),
}


def test_every_table_has_a_fit():
    with mpmath.workprec(derive.PRECISION):
        fits = derive.fits()
    assert sorted(fits) == sorted(TABLES)
    for name, fit in fits.items():
        for degree, table in zip((fit.single, fit.double), TABLES[name], strict=True):
            assert (None if degree is None else degree + 1) == (None if table is None else len(table)), name


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_tables_are_as_derived(name: str):
    with mpmath.workprec(derive.PRECISION):
        fit = derive.fits()[name]
        for dtype, degree, table in zip(("f32", "f64"), (fit.single, fit.double), TABLES[name], strict=True):
            if degree is not None:
                assert tuple(fit.coefficients(degree, dtype)[0]) == table
