"""The rows of the benchmarks at a reduced size: each compiles, runs and agrees with its reference; and what reports them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from suite import compiling, report  # noqa: E402
from suite.case import Row  # noqa: E402
from suite.compiling import CompileTimes  # noqa: E402
from suite.peers import PEERS, Lamina  # noqa: E402
from suite.products import Product  # noqa: E402
from suite.rows import ROWS, find  # noqa: E402
from suite.session import Dead, Figure, Outcome, Session, Worker  # noqa: E402

CASE = Product(4, 5, 6)
ROW = Row("a row", "4 x 5 x 6", CASE, CASE, limit=1.0, share=0.5)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_agrees_with_its_reference(row: Row) -> None:
    inputs = row.small.make_inputs()
    result = Lamina.function(row.small)(*inputs)
    assert row.small.mismatch(np.asarray(result), row.small.numpy(*inputs)) is None


def test_names_are_those_of_one_row_and_sizes_of_one_case() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert all(find(row.name) is row and type(row.case) is type(row.small) for row in ROWS)


def test_every_peer_has_rows() -> None:
    for peer in PEERS.values():
        assert any(row.case.has(peer.method) for row in ROWS)


def test_inputs_are_equal_in_every_process() -> None:
    for once, again in zip(CASE.make_inputs(), CASE.make_inputs(), strict=True):
        np.testing.assert_array_equal(once, again)


def test_a_wrong_result_is_named() -> None:
    right = np.ones((2, 3), np.float32)
    wrong = right.copy()
    wrong[1, 2] = 7
    assert CASE.mismatch(right, right) is None
    assert CASE.mismatch(wrong, right) == "1 elements differ: 7.0 at [1, 2], expected 1.0"
    assert CASE.mismatch(wrong[0], right) == "shape (3,), expected (2, 3)"
    wrong[0, 0] = np.nan
    assert "2 elements differ" in str(CASE.mismatch(wrong, right))


@pytest.mark.thorough
def test_workers_take_turns(tmp_path: Path) -> None:
    with Session(["lamina"], 1, tmp_path, tmp_path / "cache", rounds=2, small=True) as session:
        outcome = session.measure(find("row sums"))
        kernel = session.measure(find("n-body"))
    for figure in (*outcome.figures.values(), *kernel.figures.values()):
        assert not figure.note
        assert figure.seconds is not None and figure.first is not None and len(figure.samples) == 2
    assert outcome.best is not None and outcome.best[0] == "NumPy"


@pytest.mark.thorough
def test_another_environment_takes_turns_and_is_no_peer(tmp_path: Path) -> None:
    other = Worker.parse("LAMINA_TARGET='x86-64-v2{l2=256K}'" if os.uname().machine == "x86_64" else "LAMINA_DEBUG=0")
    with Session(["lamina"], 1, tmp_path, tmp_path / "cache", rounds=3, small=True, before=other) as session:
        outcome = session.measure(find("row sums"))
    assert not outcome.figures["before"].note and len(outcome.figures["before"].samples) == 3
    assert outcome.best is not None and outcome.best[0] == "NumPy"
    assert outcome.gain is not None and "times as fast as before" in report.line(outcome)


def test_gains_are_ratios_of_rounds() -> None:
    figures = {"lamina": Figure(samples=[1.0, 2.0, 4.0]), "before": Figure(samples=[2.0, 2.0, 6.0])}
    assert Outcome(ROW, 1, figures).gain == 1.5
    assert Outcome(ROW, 1, {"lamina": Figure(samples=[1.0])}).gain is None
    assert Outcome(ROW, 1, {"lamina": Figure(samples=[1.0]), "before": Figure(note="failed")}).gain is None


def test_what_runs_a_worker() -> None:
    assert Worker.parse("A='b c' python3 D=") == Worker(str(Path("python3").absolute()), (("A", "b c"), ("D", "")))
    assert Worker.parse("") == Worker(sys.executable)
    with pytest.raises(ValueError, match="one interpreter is expected"):
        Worker.parse("python3 python2")


def test_a_peer_that_dies_is_said_and_started_again(tmp_path: Path) -> None:
    with Session([], 1, tmp_path, tmp_path, rounds=1, small=True) as session:
        session.processes["NumPy"].ready()
        session.processes["NumPy"].stop()
        assert session.measure(find("row sums")).figures["NumPy"].seconds is not None
        answer = session.processes["NumPy"].ask("prepare", row="no such row", small=True, path="")
        assert answer["error"].startswith("StopIteration")
        with pytest.raises(Dead, match=r"ended with code 1, saying: json.*Error"):
            session.processes["NumPy"].send("not JSON")
            session.processes["NumPy"].answer()


def outcome(seconds: float, threads: int = 1, limit: float = 0.25) -> Outcome:
    figures = {"lamina": Figure(seconds, 0.1, 2**20), "NumPy": Figure(2.0), "torch": Figure(1.0), "machine": Figure(limit)}
    return Outcome(ROW, threads, figures | {"numba": Figure(note="failed: out of luck")})


def test_ratios_are_to_the_best_peer() -> None:
    fast, slow = outcome(0.5), outcome(2.0)
    assert fast.best == ("torch", 1.0) and fast.ratio == 2.0 and fast.share == 0.5 and fast.met
    assert slow.ratio == 0.5 and not slow.met
    assert not outcome(0.5, limit=0.2).met  # the share of the machine's limit counts as well
    assert outcome(0.5).row.memory is None


def test_the_tables_of_the_documentation(tmp_path: Path) -> None:
    times = CompileTimes({"a row": 0.1}, {"a row": 0.004}, {2: 0.1, 4: 0.15})
    text = report.markdown([outcome(2.0), outcome(0.5, threads=2)], times, ["NumPy", "torch", "numba"], rounds=3)
    assert "| a row | 4 x 5 x 6 | 500 | 2e+03 | **1e+03** | failed | 2.00 | 0.50 † | 1, 50 % | 50 % FMA |" in text
    assert "a row 4.00" in text  # two threads
    assert "cold 100 ms" in text and "1.50 times as long" in text
    path = tmp_path / "benchmarks.md"
    path.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.update(path, text)
    assert path.read_text() == f"before\n{report.BEGIN}\n{text}\n{report.END}\nafter\n"
    path.write_text("nothing")
    with pytest.raises(ValueError, match="has no lines"):
        report.update(path, text)


def test_headlines_are_rows_beside_their_best_peers() -> None:
    names = {row.name for row in ROWS}
    assert set(report.HEADLINES) <= names
    headline = replace(outcome(0.5), row=next(row for row in ROWS if row.name == report.HEADLINES[0]))
    assert "| 500 | 1e+03, torch | 2.00 |" in report.headlines([headline, outcome(0.5)], rounds=3).splitlines()[-1]


@pytest.mark.thorough
def test_compile_times(tmp_path: Path) -> None:
    network = "transformer block"
    times = compiling.measure(["row sums", "n-body"], tmp_path, counts=(1, 2), small=True, rounds=1, networks=[network])
    assert set(times.cold) == set(times.cached) == {"row sums", "n-body"} and set(times.curve) == {1, 2}
    assert all(seconds > 0 for seconds in (*times.cold.values(), *times.curve.values())) and len(times.doublings) == 1
    assert set(times.fresh) == {"cold", "cached"} and min(times.fresh.values()) > 0
    assert set(times.models) == {network}
    assert times.models[network]["lamina"] > 0 and times.models[network]["lamina CPU"] > 0
    assert list((tmp_path / "rows-0").rglob("*"))  # the cache that the second process read


def test_json_has_everything() -> None:
    data = json.loads(json.dumps(report.as_json([outcome(0.5)], CompileTimes(), ["NumPy"])))
    assert data["rows"][0]["figures"]["numba"]["note"] == "failed: out of luck"
    assert data["rows"][0]["ratio"] == 2.0


@pytest.mark.thorough
def test_command_line(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "bench.py"),
        "--quick",
        "--rounds=1",
        "--threads=1",
        "--peers=NumPy",
        f"--out={tmp_path}",
    ]
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run([*command, "--rows=triad"], capture_output=True, text=True, timeout=120, env=environment, check=True)
    assert "triad, 1 threads: NumPy" in done.stdout
    assert json.loads((tmp_path / "latest.json").read_text())["rows"][0]["row"] == "triad"
    wrong = subprocess.run([*command, "--rows=nothing"], capture_output=True, text=True, timeout=120)
    assert wrong.returncode == 2 and "no such row; there are: matmul 512" in wrong.stderr
