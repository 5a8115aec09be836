"""A call imports, makes and collects nothing that it does not need."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import lamina as lm
import numpy as np
import pytest
from lamina.codegen import cache, tuned

ONE_CALL = """
import sys
import numpy as np, lamina as lm
lm.jit(lambda x: lm.nn.relu(x))(np.ones(3, np.float32))
print(sorted(m for m in sys.modules if m.startswith("lamina.library.nn.")))
print(lm.nn.conv2d.__name__, "conv2d" in dir(lm.nn), hasattr(lm.nn, "convolution"))
"""


@pytest.mark.thorough
def test_a_function_of_nn_does_not_import_the_others() -> None:
    done = subprocess.run([sys.executable, "-c", ONE_CALL], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['lamina.library.nn.activations', 'lamina.library.nn.namespace']", "conv2d True False"]


def test_a_transform_may_be_the_first_call() -> None:
    call = "import numpy as np, lamina as lm; print(lm.fft.rfft2(np.ones((4, 6))).shape)"
    assert subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=True).stdout == "(4, 4)\n"


def test_every_public_function_of_nn_is_found() -> None:
    from lamina.library.nn import namespace as nn

    assert all(callable(getattr(nn, name)) for name in nn.__all__)


def test_asking_for_schedules_makes_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("LAMINA_CACHE", raising=False)
    place = tuned.directory()
    assert place is not None and not place.exists()
    assert tuned.state() == "" and tuned.load("key") is None and not place.exists()
    tuned.forget("key")
    assert tuned.save("key", "loop-split{loop=i size=4}", "a note") is not None
    assert tuned.state() and tuned.load("key") == "loop-split{loop=i size=4}"
    assert cache.untrusted(place.lstat()) == ""


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_not_collected_while_a_function_is_traced(enabled: bool) -> None:
    before, seen = gc.isenabled(), []
    (gc.enable if enabled else gc.disable)()

    def function(x: np.ndarray) -> np.ndarray:
        seen.append(gc.isenabled())
        if x.shape == (4,):
            raise KeyError("not traced")
        return x + 1

    try:
        jitted = lm.jit(function)
        jitted(np.ones(3, np.float32))
        with pytest.raises(KeyError, match="not traced"):
            jitted(np.ones(4, np.float32))
        assert seen == [False, False] and gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
