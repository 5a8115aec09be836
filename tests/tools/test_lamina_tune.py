"""lamina-tune --machine: a run with next to no time gives a target that is read back; choices follow what was measured."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest
from lamina.codegen.machine.chains import chains_text
from lamina.codegen.machine.memory import size_from
from lamina.codegen.machine.race import race, winner
from lamina.codegen.targets import TARGETS, get, measured
from lamina.codegen.targets.host import detect
from lamina.runtime.threads import get_threads
from lamina.tools import lamina_tune, measuring


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An object cache of the test's own."""
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("LAMINA_CACHE", "1")
    monkeypatch.delenv("LAMINA_MACHINE", raising=False)
    return tmp_path


def test_what_is_measured_is_kept_and_shown(capsys, monkeypatch):
    # few tiles and little memory: what is measured is not the subject
    here = replace(detect(), l1_bytes=16 << 10, l2_bytes=64 << 10, l3_bytes=256 << 10)
    monkeypatch.setattr(sys.modules[detect.__module__], "detect", lambda: here)
    monkeypatch.setattr(measuring, "tiles", _few_tiles)
    monkeypatch.setattr(measuring, "_SIDES", (96, 128))
    monkeypatch.setattr(measuring, "_COPIES", (1 << 16, 1 << 17))
    threads = get_threads()
    assert lamina_tune.main(["--machine", "--show"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("not measured: there is no ") and str(here) in shown
    assert all(name in shown for name in measuring.MEASUREMENTS)
    assert lamina_tune.main(["--machine", "--seconds", "0.01"]) == 0
    assert get_threads() == threads
    written = capsys.readouterr().out
    target = measured.read(here)
    assert get(str(target)) == target and written == measured.text_of(target, here, _notes(written))
    notes = ("vectors, Gflop/s: ", "div double: one after the other", "exp float: ", "reads, Gbyte/s: ", "non-temporal stores")
    for words in notes:
        assert f"\n# {words}" in written
    assert lamina_tune.main(["--machine", "--show"]) == 0
    assert written in capsys.readouterr().out


def _few_tiles(target, width):
    return [replace(target, vector_bits=width, tile=tile) for tile in dict.fromkeys((target.tile, (4, 2)))]


def _notes(text: str) -> str:
    return "\n".join(line[2:] for line in text.splitlines()[1:] if line.startswith("# "))


def test_nothing_is_kept_without_a_cache(capsys, monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE", "0")
    monkeypatch.setattr(measuring, "measure", lambda detected, seconds, each: (detected, ""))
    assert lamina_tune.main(["--machine"]) == 1
    assert "not kept" in capsys.readouterr().err


@pytest.mark.parametrize(("args", "message"), [([], "say what to tune"), (["--machine", "--seconds", "0"], "must be above 0")])
def test_what_is_no_command(capsys, args, message):
    assert lamina_tune.main(args) == 2
    assert message in capsys.readouterr().err


def times(*seconds):
    return cycle(seconds).__next__


def test_the_usual_way_stays_unless_another_wins_twice():
    usual, same, faster = times(1.0), times(0.99), times(0.9)
    assert winner({"usual": usual, "same": same}, "usual", 0)[0] == "usual"
    assert winner({"usual": usual, "same": same, "faster": faster}, "usual", 0)[0] == "faster"
    lucky = times(*[0.5] * 9, *[2.0] * 9)  # fast in the rounds of the first race alone
    assert winner({"usual": usual, "lucky": lucky}, "usual", 0)[0] == "usual"
    once = times(0.1, *[2.0] * 1000)  # one good time is no gain
    assert race({"usual": usual, "once": once}, 0).gain("once", "usual") < 1
    noisy = times(1.0, 50.0, 50.0)  # and interruptions are none of the other
    assert race({"usual": noisy, "same": times(1.0)}, 0).gain("same", "usual") == 1


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_tiles_fit_the_registers(name):
    level = TARGETS[name]
    for width in {128, level.vector_bits}:
        found = measuring.tiles(level, width)
        assert all(get(str(target)) == target and target.vector_bits == width for target in found)
        assert len({target.tile for target in found}) == len(found) >= 6
    assert measuring.tiles(level, level.vector_bits)[0] == level


@pytest.mark.parametrize(
    ("gains", "size"),
    [
        ({1: 0.9, 2: 1.2, 4: 1.3}, 2),
        ({1: 1.2, 2: 0.9, 4: 1.3}, 4),
        ({1: 1.2, 2: 1.2, 4: 1.2}, 1),
        ({1: 1.2, 2: 1.2, 4: 1.0}, 0),
    ],
)
def test_stores_go_past_from_where_they_always_pay(gains, size):
    assert measuring.first_that_pays(gains) == size


@pytest.mark.parametrize(
    ("seconds", "found"),
    [
        ({8: 1, 16: 1, 24: 1, 48: 2, 64: 2, 100: 2}, 32),  # as expected
        ({8: 1, 16: 1, 24: 1, 48: 1, 64: 1, 100: 1}, 32),  # no step
        ({4: 1, 8: 1, 16: 3, 24: 3, 48: 3, 64: 3, 100: 3}, 8),
        ({4: 1, 8: 1, 16: 1, 48: 1, 64: 3, 100: 9, 110: 9, 120: 9}, 32),  # within a factor of two
        ({48: 2, 64: 2}, 32),  # nothing known inside
    ],
)
def test_sizes_of_caches_are_those_of_the_system_unless_clearly_wrong(seconds, found):
    assert size_from(seconds, 0, 32, 512) == found


def test_caches_stay_unless_they_are_seen_twice(monkeypatch):
    target = TARGETS["x86-64-v3"]
    monkeypatch.setattr(measuring, "_least", lambda probe, seconds: 1.0)
    monkeypatch.setattr(measuring, "ReadProbe", lambda size, target: size)
    monkeypatch.setattr(measuring, "ChaseProbe", lambda size, target: size)
    sizes = cycle([target.l1_bytes, target.l2_bytes // 4, target.l3_bytes])
    monkeypatch.setattr(measuring, "size_from", lambda *_: next(sizes))
    machine = measuring.Machine(target, 0.01)
    measuring.measure_caches(machine)
    assert (machine.target.l1_bytes, machine.target.l2_bytes) == (target.l1_bytes, target.l2_bytes // 4)
    sizes = cycle([target.l1_bytes, target.l2_bytes // 4, target.l3_bytes, target.l1_bytes, target.l2_bytes, target.l3_bytes])
    machine = measuring.Machine(target, 0.01)
    measuring.measure_caches(machine)
    assert machine.target == target


@pytest.mark.parametrize("op", ["fma", "mul", "div", "sqrt"])
def test_chains_compute(op):
    """Each link of each chain, added up at the end."""
    import ctypes

    from lamina.codegen.compile import compile_object
    from lamina.codegen.thread_runtime import load_object

    link = {
        "fma": lambda a, x: a * a + x,
        "mul": lambda a, x: a * x,
        "div": lambda a, x: a / x,
        "sqrt": lambda a, x: (x + a) ** 0.5,
    }
    function = load_object(compile_object(chains_text(op, "double", 2, 3), detect()), ["f"])
    numbers = np.linspace(1, 2, 8)
    a, chains = numbers[:2].copy(), [numbers[k : k + 2].copy() for k in range(3)]
    for _ in range(5):
        chains = [link[op](a, x) for x in chains]
    function.function("f", None, ctypes.c_int64, ctypes.c_void_p)(5, numbers.ctypes.data)
    np.testing.assert_allclose(numbers[:2], sum(chains), rtol=1e-14)


def test_costs_that_are_near_stay():
    assert not measuring._differs((8, 12), (9, 11)) and measuring._differs((8, 12), (8, 20))


def test_the_text_is_one_line_a_fact():
    text = measured.text_of(detect(), detect(), "a: b\nc")
    assert re.fullmatch(r"# lamina machine 1\nmachine: .*\ncores: \d+\ntarget: host\n# a: b\n# c\n", text)
