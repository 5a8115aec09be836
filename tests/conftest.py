"""Fixtures and options of all tests."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hypothesis.core
import numpy as np
import pytest
from lamina.executor import executor
from lamina.lowering.fallbacks import Fallback, recorded
from lamina.runtime import gc_pause
from xdsl.dialects.func import CallOp, ReturnOp

sys.path.insert(0, str(Path(__file__).parent))
from skips import excess

ROOT = Path(__file__).parent.parent


os.environ["LAMINA_MACHINE"] = "off"  # what somebody measured here decides nothing that is tested
os.environ["LAMINA_FALLBACKS"] = "error"
"""What the compiler gives up (`lowering/fallbacks.py`) is an error, here and in the processes that tests start."""


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main() -> Iterator[None]:
    """What is compiled is kept for all workers and children of this run, and no longer, unless LAMINA_CACHE_DIR says where."""
    if "LAMINA_CACHE_DIR" in os.environ:
        return (yield)
    with tempfile.TemporaryDirectory(prefix="lamina-tests-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINA_CACHE_DIR", folder)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Modules and the list of tests stay: no collection of garbage looks through them, which took a tenth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(
            20_000, 20, 20
        )  # what tests make is short-lived: with Python's 700 objects collecting took 6 % of the time
        gc.enable()


@pytest.fixture
def thawed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No object is frozen, nor was one found to be, as in a process that starts."""
    monkeypatch.setattr(gc_pause, "_has_frozen", False)
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_is_known() -> None:
    """Each test finds what is on disk alone: no executable of another one, which may have been built under other conditions."""
    executor.forget()


@pytest.fixture
def fallbacks(monkeypatch: pytest.MonkeyPatch) -> Iterator[deque[Fallback]]:
    """Lets the compiler fall back in a test: the events so far."""
    monkeypatch.delenv("LAMINA_FALLBACKS", raising=False)
    recorded.clear()
    yield recorded
    recorded.clear()


def _interpret(module: Any, *arrays: Any, entry: str = "main") -> tuple[np.ndarray, ...]:
    """Evaluate a function of a module of graph ops, op by op."""
    functions = {op.sym_name.data: op for op in module.body.block.ops}
    block = functions[entry].body.block
    values: dict[Any, Any] = dict(zip(block.args, map(np.asarray, arrays), strict=True))
    for op in block.ops:
        operands = [values[v] for v in op.operands]
        if isinstance(op, ReturnOp):
            return tuple(operands)
        if isinstance(op, CallOp):
            results = _interpret(module, *operands, entry=op.callee.root_reference.data)
        else:
            results = op.evaluate(*operands)
        values.update(zip(op.results, results, strict=True))
    raise AssertionError("a function ends with a return")


@pytest.fixture(scope="session")
def interpret() -> Any:
    """`interpret(module, *arrays)`: the reference meaning of a module."""
    return _interpret


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def mlir_opt() -> str:
    """Upstream's `mlir-opt`; in CI its absence is a failure, elsewhere the test is skipped."""
    spec = find_spec("mlir")
    for folder in spec.submodule_search_locations or () if spec else ():
        path = Path(folder) / "bin" / "mlir-opt"
        if os.access(path, os.X_OK):
            return str(path)
    if os.environ.get("CI"):
        pytest.fail("mlir-opt is missing: install the extra lamina[test]")
    pytest.skip("mlir-opt is not installed (extra lamina[test])")


def awaited(path: Path) -> None:
    """Tests of a part that is not there at all yet are skipped, in CI they fail."""
    if not path.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{path.relative_to(ROOT)} does not exist yet")


@pytest.fixture(name="awaited", scope="session")
def _awaited():
    return awaited


# -- chance: what hypothesis finds it prints with a line that replays it. LAMINA_TEST_SEED=n lets every random test draw others,
# the same ones for the same n; without it hypothesis draws anew each time, in CI the same ones always

_SEED = os.environ.get("LAMINA_TEST_SEED")
hypothesis.settings.register_profile(
    "lamina",
    hypothesis.settings(),
    print_blob=True,
    deadline=None,  # machines are busy at times
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("lamina")
if _SEED:
    hypothesis.settings.register_profile("seeded", hypothesis.settings(), derandomize=False, database=None)
    hypothesis.settings.load_profile("seeded")
    hypothesis.core.global_force_seed = int(_SEED)  # as --hypothesis-seed does


# -- thorough(every=8) leaves the first of every eight rows of a parametrized test in `make test`, all are in `make test-all`;
# LAMINA_TEST_SHARE=2/3 runs every third test, from the second on: parts of a matrix that together run all (on_targets.py)


@pytest.hookimpl(tryfirst=True)  # before markers select
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    rows: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("thorough")
        if mark is None or "every" not in mark.kwargs:
            continue
        function = item.nodeid.partition("[")[0]
        if rows[function] % mark.kwargs["every"] == 0:
            item.own_markers = [other for other in item.own_markers if other.name != "thorough"]
        rows[function] += 1
    draw_less("not thorough" in config.option.markexpr, [item for item in items if isinstance(item, pytest.Function)])
    first, step = map(int, os.environ.get("LAMINA_TEST_SHARE", "1/1").split("/"))
    config.hook.pytest_deselected(items=[item for k, item in enumerate(items) if k % step != first - 1])
    items[:] = items[first - 1 :: step]


EXAMPLES = 4  # a property has one of so many of its examples in `make test`, and all of them among the thorough tests


def draw_less(everyday: bool, items: list[pytest.Function]) -> None:
    """Tests of hypothesis are shortened for every day; elsewhere they are thorough, too."""
    drawn = {item.function for item in items if hypothesis.is_hypothesis_test(item.function)}
    for item in items:
        if item.function in drawn and not everyday:
            item.add_marker("thorough")
    for function in drawn if everyday else ():
        given = getattr(function, _SETTINGS)
        setattr(function, _SETTINGS, hypothesis.settings(given, max_examples=max(5, given.max_examples // EXAMPLES)))


_SETTINGS = "_hypothesis_internal_use_settings"  # hypothesis refuses to decorate a test with settings twice


# -- in CI all that tests need is there, so that only machines are a reason to skip (skips.py)


@pytest.hookimpl(tryfirst=True)  # before the summary is printed, whose lines tell why
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("CI") or reporter is None or hasattr(session.config, "workerinput"):
        return
    skipped = {
        (report.nodeid, str(report.longrepr[2]).removeprefix("Skipped: ")) for report in reporter.stats.get("skipped", ())
    }
    session.config.stash[_EXCESS] = found = excess(reason for _, reason in skipped)
    if found and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in terminalreporter.config.stash.get(_EXCESS, ()):
        terminalreporter.write_line(f"ERROR {line}", red=True)


_EXCESS = pytest.StashKey[list[str]]()
