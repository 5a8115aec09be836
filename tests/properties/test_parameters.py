"""Any number as a parameter of any step: it is refused with a reason, or the step changes nothing; nothing hangs or aborts.

LAMINA_TEST_EXAMPLES says how many kernels there are, LAMINA_TEST_SEED from which seed on.
"""

from __future__ import annotations

import dataclasses
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from lamina.dialects.dominance import verify_module
from lamina.errors import CompileError, LaminaError, ScheduleError
from lamina.frontend.kernel.schedules import Schedule
from lamina.lowering.llvm.emit import emit_module
from lamina.lowering.schedule.base import Primitive
from lamina.lowering.target import target_of

sys.path.insert(0, str(Path(__file__).parent))
from strategies import draw_kernel, draw_step, reassociates
from test_random_schedules import FIRST_SEED, case_of, compare, explained, interpreted

EXAMPLES = int(os.environ.get("LAMINA_TEST_EXAMPLES", "320")) // 4
GROUPS = 8
STEPS = 12
"""Steps that are tried on each kernel."""
NUMBERS = (-(2**64), -(2**63), -(2**40), -(2**31), -8, -1, 0, 1, 2, 3, 5, 7, 64, 1000, 8191, 2**16, 2**31, 2**40, 2**40 + 1)
NUMBERS += (2**62, 2**63 - 1, 2**63, 2**64)
MOST_EMITTED_OPS = 3000


def with_another_number(rng: random.Random, step: Primitive) -> Primitive | None:
    """The step with one of its numbers changed; None if it has none."""
    places: list[tuple[str, int | None]] = []
    for option in dataclasses.fields(step):
        value: Any = getattr(step, option.name)
        if type(value) is int:
            places.append((option.name, None))
        elif isinstance(value, tuple):
            places += [(option.name, k) for k, item in enumerate(value) if type(item) is int]
    if not places:
        return None
    name, k = rng.choice(places)
    number, value = rng.choice(NUMBERS), getattr(step, name)
    return dataclasses.replace(step, **{name: number if k is None else (*value[:k], number, *value[k + 1 :])})


def tried(seed: int) -> tuple[int, int]:
    """Try steps on one kernel: how many were taken, and how many refused."""
    rng = random.Random(f"parameters {seed}")
    case = case_of(draw_kernel(rng), rng)
    small = [k for k, meant in enumerate(case.meant) if meant is not None]
    refused = taken = 0
    for _ in range(STEPS):
        schedule = Schedule(case.module)
        step = with_another_number(rng, draw_step(rng, schedule, []))
        if step is None:
            continue
        close = reassociates(schedule, step) and case.drawn.type[0] == "f"
        try:
            schedule.take(step)
        except ScheduleError as error:
            assert str(error).strip(), "no reason"
            refused += 1
            continue
        except Exception as error:
            pytest.fail(f"seed {seed}: {explained(case, [step], error)}", pytrace=True)
        taken += 1
        try:
            verify_module(schedule.module)
            for k in small:
                meant = case.meant[k]
                assert meant is not None
                compare(interpreted(case, schedule.module, case.sizes[k]), meant, close, f"at {case.sizes[k]}")
            if sum(1 for _ in schedule.module.walk()) < MOST_EMITTED_OPS:
                emit_module(schedule.module, target_of(schedule.module), callable_kernels=True)
        except CompileError:
            pass
        except LaminaError as error:
            assert "limit" in str(error), explained(case, [step], error)  # the interpreter takes so many steps at most
        except Exception as error:
            pytest.fail(f"seed {seed}: {explained(case, [step], error)}", pytrace=True)
    return taken, refused


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("group", range(GROUPS))
def test_any_number_is_refused_or_changes_nothing(group: int) -> None:
    seeds = range(FIRST_SEED + group, FIRST_SEED + EXAMPLES, GROUPS)
    taken, refused = (sum(counts) for counts in zip(*map(tried, seeds), strict=True))
    assert taken and refused
