"""A sample of the mutants of `mutants.py`; `LAMINA_MUTANTS=20000 pytest -m slow` checks as many as asked for."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import mutants
from lies import Lies

SAMPLE = 120
"""The default run checks so many, spread over all units."""


def shown(result: mutants.Result) -> str:
    return "\n".join(f"{f['number']} {f.get('name', '')}: {f['verdict']}: {f.get('what', '')[:300]}" for f in result.findings)


@pytest.mark.thorough
def test_a_sample_of_mutants_is_refused_with_a_place_or_runs_as_interpreted() -> None:
    result = mutants.run(range(0, SAMPLE * 97, 97))
    assert not result.findings, shown(result)
    assert result.total == SAMPLE and result.counts["refused"] < SAMPLE


@pytest.mark.thorough
def test_a_sample_of_lies_is_refused_with_a_place_or_harmless() -> None:
    """Attributes and types that an op cannot have, every 97th (`lies.py`)."""
    result = mutants.run(range(0, Lies().count, 97), kind="lies")
    assert not result.findings, shown(result)
    assert 100 < result.counts["refused"] < result.total


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_all_lies() -> None:
    result = mutants.run(range(Lies().count), kind="lies")
    assert not result.findings, shown(result)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_many_mutants() -> None:
    count = int(os.environ.get("LAMINA_MUTANTS", "20000"))
    result = mutants.run(range(count), jobs=2)
    assert not result.findings, shown(result)


def test_mutants_are_the_same_in_every_run() -> None:
    text = "loop.for seq %i = 0 to 8 { %a = loop.load %x[%i] : memref<8xf32> }"
    assert mutants.mutate(text, random.Random(3)) == mutants.mutate(text, random.Random(3))
    assert len({mutants.mutate(text, random.Random(k)) for k in range(100)}) > 30


def test_every_file_has_units() -> None:
    names = {unit.name.partition(".")[0] for unit in mutants.units()}
    assert {"check-bounds", "predict", "spmv", "graph-fuse", "loop-tile"} <= names
