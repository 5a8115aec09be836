"""lit: FileCheck tests of the tools. Run with `make test`, or `.venv/bin/lit filecheck/transforms`.

The tools of RUN lines are forks of lit's processes (forked.py); `--param processes=1` starts each as a user does.
"""

import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import forked
from lit_format import QuotedShTest

config.name = "lamina"  # noqa: F821
config.test_format = QuotedShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821
config.excludes = ["Inputs", "Output"]  # noqa: F821
config.test_source_root = str(Path(__file__).parent)  # noqa: F821
config.test_exec_root = str(Path(__file__).parent / "Output")  # noqa: F821

PYTHON = shlex.quote(sys.executable)
MLIR = find_spec("mlir")
MLIR_OPT = [str(Path(folder) / "bin" / "mlir-opt") for folder in (MLIR.submodule_search_locations or () if MLIR else ())]
MLIR_OPT = [path for path in MLIR_OPT if os.access(path, os.X_OK)]
if MLIR_OPT:
    config.available_features.add("mlir-opt")  # noqa: F821

config.substitutions += [  # noqa: F821
    (r"(?<![\w./-])lamina-opt(?![\w./-])", f"{PYTHON} -m lamina.tools.lamina_opt"),
    (r"(?<![\w./-])lamina-run(?![\w./-])", f"{PYTHON} -m lamina.tools.lamina_run"),
    (r"(?<![\w./-])lamina-compile(?![\w./-])", f"{PYTHON} -m lamina.tools.lamina_compile"),
    (r"(?<![\w./-])filecheck(?![\w./-])", f"{PYTHON} -m filecheck"),
    (r"(?<![\w./-])mlir-opt(?![\w./-])", shlex.quote(MLIR_OPT[0]) if MLIR_OPT else "mlir-opt"),
]
if not lit_config.params.get("processes"):  # noqa: F821
    forked.install()
# the files of schedule primitives execute what they check where lit is told so: make test-thorough
config.substitutions.append(("%validate", "--validate-each" if lit_config.params.get("validate") else ""))  # noqa: F821
config.environment["LAMINA_FALLBACKS"] = "error"  # noqa: F821
config.environment["LAMINA_MACHINE"] = "off"  # noqa: F821
for name in ("HOME", "XDG_CACHE_HOME", "LAMINA_DEBUG", "LAMINA_CACHE", "LAMINA_CACHE_DIR", "LAMINA_XDSL_PATCHES"):
    if name in os.environ:
        config.environment[name] = os.environ[name]  # noqa: F821
