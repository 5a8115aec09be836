"""`lm.config`: options that change the meaning of programs, for the process or for a block of a thread.

An option is part of every key under which traced or compiled programs are kept. Machine code that serves calls of a function
without entering Python was made under the options of the process; while a thread has others, it serves no function.
"""

from __future__ import annotations

import importlib
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

from ...runtime.dispatch import gate

PROMOTIONS = ("numpy", "jax", "strict")


@dataclass(frozen=True)
class Options:
    """The options.

    Attributes:
        promotion: which dtype operands of several have: `numpy`, `jax`, or `strict`, which promotes Python numbers alone.
        x64: whether there are dtypes of 64 bits; if not, they become those of 32 bits wherever they are met, as in jax.
        lazy: whether elementwise functions outside of a trace are deferred until a value is read, to be computed together
            (`frontend/run/lazy.py`).
        jit: whether `jit` compiles; if not, functions and loops run in Python (`disable_jit`).
        nans: whether results of compiled functions are searched for NaNs (`debug_nans`).
        watched: the variables of compiled functions whose values calls tell (`watch`).
        variants: whether matmuls with a symbolic number of rows are specialized for one row and for few.
    """

    promotion: str = "numpy"
    x64: bool = True
    lazy: bool = False
    variants: bool = True
    jit: bool = True
    nans: bool = False
    watched: tuple[str, ...] = ()

    @property
    def of_code(self) -> Options:
        """The options without those that look at calls and change no code."""
        return replace(self, nans=False, watched=()) if self.nans or self.watched else self

    @property
    def are_numpys(self) -> bool:
        """Whether NumPy's own operators follow the chosen promotion."""
        return self.promotion == "numpy" and self.x64


DEFAULT = Options()


class _Thread(threading.local):
    """The options that blocks of a thread have set, innermost last."""

    def __init__(self) -> None:
        self.blocks: list[Options] = []


class Config:
    """The options in use, as `config.promotion`; call it for a block, or `update` it for the process.

    >>> import numpy as np, lamina as lm
    >>> x, n = np.ones(2, np.float32), np.arange(2, dtype=np.int32)
    >>> (lm.numpy.add(x, n)).dtype
    dtype('float64')
    >>> with lm.config(promotion="jax"):
    ...     (lm.numpy.add(x, n)).dtype
    dtype('float32')
    """

    def __init__(self) -> None:
        self._process = DEFAULT
        self._thread = _Thread()
        self._lock = threading.RLock()
        self._open = self._promoting = 0
        self.common: Options | None = DEFAULT
        """The options of all threads; None while some thread has its own."""
        self._routed = False
        self._served: weakref.WeakSet[Any] = weakref.WeakSet()
        self._numbers = {DEFAULT: gate.number}

    @property
    def options(self) -> Options:
        """Those of this thread, in this block."""
        blocks = self._thread.blocks
        return blocks[-1] if blocks else self._process

    @property
    def promotion(self) -> str:
        """`numpy`, `jax` or `strict`."""
        return self.options.promotion

    @property
    def x64(self) -> bool:
        """Whether there are dtypes of 64 bits."""
        return self.options.x64

    @property
    def lazy(self) -> bool:
        """Whether elementwise functions outside of a trace are deferred until a value is read."""
        return self.options.lazy

    @property
    def variants(self) -> bool:
        """Whether matmuls with a symbolic number of rows are specialized for one row and for few."""
        return self.options.variants

    @contextmanager
    def __call__(self, **options: Any) -> Generator[None]:
        """Options for a `with` block of this thread; others stay as they are.

        Raises:
            ValueError, TypeError: there is no such option or value.
        """
        chosen = _changed(self.options, options)
        with self._lock:
            self._open += 1
            self._promoting += not chosen.are_numpys
            self._share(None)
            self._withdraw()
        self._thread.blocks.append(chosen)
        try:
            yield
        finally:
            self._thread.blocks.pop()
            with self._lock:
                self._open -= 1
                self._promoting -= not chosen.are_numpys
                self._share(None if self._open else self._process)

    @contextmanager
    def lenient(self) -> Generator[None]:
        """For calls between our own functions: strict promotion is required of their callers."""
        if self.options.promotion != "strict":
            yield
            return
        self._thread.blocks.append(replace(self.options, promotion="numpy"))
        try:
            yield
        finally:
            self._thread.blocks.pop()

    def update(self, **options: Any) -> None:
        """Options for all threads of the process, where no block overrides them.

        Raises:
            ValueError, TypeError: there is no such option or value.
        """
        with self._lock:
            self._process = _changed(self._process, options)
            self._share(None if self._open else self._process)
            self._withdraw()

    def serve(self, function: Any, executable: Any) -> None:
        """Let machine code serve the calls of a function, unless a thread has options of its own."""
        with self._lock:
            if not self._open:
                self._served.add(function)
                function.install(executable)

    def _share(self, common: Options | None) -> None:
        """Say what the options of all threads are, also to calls outside of a trace (`frontend/run/`)."""
        self.common = common
        self._route(self._promoting > 0 or not self._process.are_numpys)
        gate.change(0 if common is None else self._numbers.setdefault(common, len(self._numbers) + 1))

    def _route(self, is_promoting: bool) -> None:
        """Let operators between results look up the promotion rules while these are not NumPy's."""
        if is_promoting != self._routed:
            self._routed = is_promoting
            promoted = importlib.import_module(".result_operators", __package__)  # made with the module that reads options
            promoted.install() if is_promoting else promoted.remove()

    def _withdraw(self) -> None:
        for function in list(self._served):
            function.uninstall()
        self._served.clear()

    def __repr__(self) -> str:
        return f"config({', '.join(f'{f.name}={getattr(self.options, f.name)!r}' for f in fields(Options))})"


def _changed(options: Options, changes: dict[str, Any]) -> Options:
    known = {f.name for f in fields(Options)}
    if unknown := [name for name in changes if name not in known]:
        raise TypeError(f"config has no option {unknown[0]!r}, options are: {', '.join(sorted(known))}")
    if (promotion := changes.get("promotion", "numpy")) not in PROMOTIONS:
        raise ValueError(f"promotion must be one of {', '.join(PROMOTIONS)}, got {promotion!r}")
    for name in ("x64", "lazy", "jit"):
        if not isinstance(changes.get(name, True), bool):
            raise TypeError(f"{name} must be a bool, got {changes[name]!r}")
    return replace(options, **changes)


config = Config()
