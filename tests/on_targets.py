"""Tests that depend on the target, for other targets than this machine: `make test-targets`.

Schedules, lowering, the table of ops and kernels run once more as if on each machine of `TARGETS`; what this processor cannot
run is compiled to assembly. `python tests/on_targets.py v2 l3=0` takes the rows whose title has one of these words.
"""

from __future__ import annotations

import argparse
import sys

from lamina.codegen.targets import get
from lamina.codegen.targets.host import why_not_here
from parts import Part, run

SMALL, LARGE = "host{l1=16K l2=256K l3=0}", "host{l1=64K l2=2M l3=64M}"
TARGETS = (
    ("x86-64-v2", "", "1/8"),
    ("x86-64-v3", "", "3/8"),
    ("x86-64-v4", "", "5/8"),
    ("x86-64-v4{vector=256}", "", "7/8"),
    (SMALL, "1", "2/32"),
    (SMALL, "64", "12/32"),
    (LARGE, "1", "22/32"),
    (LARGE, "64", "32/32"),
)
"""Targets as text, how many threads they have (nothing: those of the machine), and the share of the tests that runs."""

KERNELS = ("default_schedule", "expressions", "prefetch_rows", "reuse", "sizes", "special_values", "stream")
INTERPRETED = ("memory", "rfactor", "structure", "vectorize", "vectorize_bodies", "vectorize_random")
"""Primitives whose tests compile nothing."""
PROPERTIES = ("default_schedule", "random_schedules", "any_target", "conversions", "fuse_random", "guard_pages")
DEPENDENT = (
    *(f"tests/properties/test_{name}.py" for name in PROPERTIES),
    "tests/dialects/test_ops.py::test_compiled_equals_evaluate",
    *("tests/lowering", "--ignore=tests/lowering/analysis", "tests/examples", "tests/library/test_attention.py"),
    *(f"--ignore=tests/lowering/schedule/test_{name}.py" for name in INTERPRETED),
    *(f"tests/frontend/kernel/test_{name}.py" for name in KERNELS),
)
COMPILED = ("tests/codegen/test_targets_compile.py",)


def parts(jobs: str, words: list[str], share: str | None) -> list[Part]:
    """What there is to run."""
    found: list[Part] = []
    for text, threads, usual in TARGETS:
        title = f"{text} on {threads or 'all'} threads"
        if words and not any(word in title for word in words):
            continue
        why_not = why_not_here(get(text))
        command = [sys.executable, "-m", "pytest", "-c", "tests/pytest.ini", "--rootdir=.", "-n", jobs]
        env = {"LAMINA_NUM_THREADS": threads} if threads else {}
        if why_not is None:
            env |= {"LAMINA_TARGET": text, "LAMINA_TEST_SHARE": share or usual}
            found.append(Part(f"{title}, tests {share or usual}", [*command, *DEPENDENT], env))
        else:
            found.append(Part(f"{title}, compiled only: {why_not}", [*command, *COMPILED], {"LAMINA_TEST_TARGET": text}))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of titles")
    parser.add_argument("-n", default="2", help="how many tests run at a time")
    parser.add_argument("--share", help="1/1 runs all tests that depend on the target, 2/3 every third from the second on")
    options = parser.parse_args()
    return run(parts(options.n, options.words, options.share))


if __name__ == "__main__":
    sys.exit(main())
