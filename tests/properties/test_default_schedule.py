"""Random kernels with the default schedule: it is legal, replayable text, and changes no bit on any number of threads.

The kernels are those of test_random_schedules.py, which says how they are run: on this machine, whichever target a schedule is
for. LAMINA_TEST_DEFAULTS says how many there are, LAMINA_TEST_SEED from which seed on.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest
from lamina.codegen.targets import get
from lamina.dialects.dominance import verify_module
from lamina.executor import kernels
from lamina.frontend.kernel.schedules import default_schedule
from lamina.lowering.target import set_target

sys.path.insert(0, str(Path(__file__).parent))
from strategies import draw_kernel
from test_random_schedules import FIRST_SEED, case_of, check, explained, replay

EXAMPLES = int(os.environ.get("LAMINA_TEST_DEFAULTS", "112"))
GROUPS = 16
TARGETS = (
    "host", "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4{vector=256}", "aarch64", "x86-64-v3{l1=16K l2=256K l3=0}",
    "x86-64-v3{l1=64K l2=2M l3=64M}",
)  # fmt: skip


def default_runs_as_written(rng: random.Random) -> tuple[str, ...]:
    """Check one kernel; the names of the steps it got."""
    case = case_of(draw_kernel(rng), rng)
    set_target(case.module, get(rng.choice(TARGETS)))
    schedule = default_schedule(case.module)
    try:
        verify_module(schedule.module)
        check(case, schedule.module, close=False)
        text = str(schedule.module)
        assert str(kernels.scheduled_by_default(case.module)) == text, "the pass takes other steps"
        if schedule.steps:  # which name loops only: the module stays one for any target
            again, kernel = replay(case, str(schedule)), kernels.find_kernel(schedule.module)
            assert str(kernels.find_kernel(again)) == str(kernel), "the steps as text lead elsewhere"
    except Exception as error:
        pytest.fail(explained(case, schedule.steps, error), pytrace=False)
    return tuple(step.name for step in schedule.steps)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("group", range(GROUPS))
def test_the_default_schedule_changes_nothing(group: int) -> None:
    rng = random.Random(7 + FIRST_SEED * GROUPS + group)
    taken = [default_runs_as_written(rng) for _ in range(-(-EXAMPLES // GROUPS))]
    assert sum("loop-vectorize" in steps or "loop-parallelize" in steps for steps in taken) >= len(taken) // 4
