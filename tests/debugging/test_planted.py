"""A share of the planted faults and of the valid programs; `planted.py` and `valid_programs.py` run all of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import planted
import valid_programs

EVERYDAY = ("rule: power of two", "donation: not the whole", "composite: gelu", "batching: axis", "emission: sub")
"""One fault of several areas."""


def test_there_are_sixty_faults_with_names_of_their_own() -> None:
    assert len(planted.FAULTS) >= 60 and len({fault.name for fault in planted.FAULTS}) == len(planted.FAULTS)
    for fault in planted.FAULTS:
        assert fault.old in (planted.ROOT / fault.file).read_text(encoding="utf-8"), fault.name


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("name", EVERYDAY)
def test_a_planted_fault_is_named(name: str) -> None:
    (fault,) = [fault for fault in planted.FAULTS if fault.name == name]
    word, said = planted.verdict(fault)
    assert word == "named", said


@pytest.mark.thorough(every=2)
@pytest.mark.parametrize("seed", [3, 8])
def test_valid_programs_are_not_blamed(seed: int) -> None:
    assert valid_programs.validate(valid_programs.program(seed), 1).runs > 50


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_nearly_all_planted_faults_are_named() -> None:
    missed = [fault.name for fault in planted.FAULTS if planted.verdict(fault)[0] != "named"]
    assert len(planted.FAULTS) - len(missed) >= 58, missed
