"""Options of lamina-opt with our passes and rules; test_mlir_opt_conventions.py has those that mlir-opt has, too."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from lamina import passes
from lamina.tools.lamina_opt import main

GRAPH = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.neg %x : tensor<4xf32>
  %b = graph.neg %a : tensor<4xf32>
  %c = graph.exp %b : tensor<4xf32>
  %d = graph.sin %c : tensor<4xf32>
  return %d : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.neg %x : tensor<4xf32>
  %b = graph.neg %a : tensor<4xf32>
  return %b : tensor<4xf32>
}
"""

PLUGIN = '''
from dataclasses import dataclass

from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.passes import ModulePass


@irdl_op_definition
class HiOp(IRDLOperation):
    """Says hi."""

    name = "hi.hi"


HI = Dialect("hi", [HiOp], [])


@dataclass(frozen=True)
class TestDropHi(ModulePass):
    """Drop hi."""

    name = "test-drop-hi"
    fails: bool = False

    def apply(self, ctx, op):
        if self.fails:
            raise KeyError("hi")
        for each in list(op.walk()):
            if isinstance(each, HiOp):
                each.detach()
                each.erase()
'''


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.mlir"
    path.write_text(GRAPH)
    return path


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Path]:
    from lamina import extensions

    path = tmp_path / "plugin.py"
    path.write_text(PLUGIN)
    yield path
    passes._registered.pop("test-drop-hi", None)
    extensions.remove("pass", "test-drop-hi")


def run(*arguments: object) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(argument) for argument in arguments])
    return status, out.getvalue(), err.getvalue()


def negations(text: str) -> list[int]:
    """How many negations each function has."""
    return [part.count("graph.neg") for part in text.split("func.func")[1:]]


# Pipelines


def test_a_pass_runs_on_each_function(graph: Path) -> None:
    status, out, err = run(graph, "-p", "builtin.module(func.func(graph-simplify,graph-dce))", "--mlir-print-ir-after-all")
    assert status == 0 and negations(out) == [0, 0]
    assert re.findall(r"IR Dump After (\w+) .*\nfunc.func @(\w)", err) == [
        ("GraphSimplifyPass", "f"),
        ("GraphDcePass", "f"),
        ("GraphSimplifyPass", "g"),
        ("GraphDcePass", "g"),
    ]


def test_what_a_nested_pass_adds_gets_names_that_are_free(tmp_path: Path) -> None:
    path = tmp_path / "two.mlir"
    body = (
        "(%x: tensor<{0}xf32>) -> tensor<{0}xf32> {{\n %y = graph.exp %x : tensor<{0}xf32>\n return %y : tensor<{0}xf32>\n}}\n"
    )
    path.write_text("func.func @f" + body.format(4) + "func.func @g" + body.format(8))
    status, out, _ = run(path, "-p", "builtin.module(func.func(graph-fuse,convert-graph-to-loop))")
    assert status == 0, out
    kernels, launched = re.findall(r"loop.kernel @(\w+)", out), re.findall(r"loop.launch @(\w+)", out)
    assert len(set(kernels)) == 2 and sorted(kernels) == sorted(launched)


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ("builtin.module(func.fnc(graph-cse))", "there is no op 'func.fnc' to run passes on, did you mean func.func"),
        ("builtin.module(scf.for(graph-cse))", "'scf.for' is not isolated from above"),
        ("graph-cse{max=1}", "pass 'graph-cse' has no option 'max', it has: none"),
        ("graph-fuse{max-opps=1}", "pass 'graph-fuse' has no option 'max-opps', did you mean max-ops?"),
        ("bultin.module(graph-cse)", "did you mean builtin.module?"),
        ("graph-fuse{max-ops=x}", "pass 'graph-fuse': Incompatible types"),
        ("graph-fuse{max-ops=0}", "graph-fuse: max-ops must be at least 1"),
        ("graph-fuse{max-ops", "'{' is not closed"),
        ("graph-fuse{max-ops=}", "expected a value behind '='"),
        ('graph-fuse{max-ops="1}', "the quoted text does not end"),
    ],
)
def test_mistakes_in_pipelines(graph: Path, pipeline: str, message: str) -> None:
    status, out, err = run(graph, "-p", pipeline)
    assert status and not out and message in err


@pytest.mark.parametrize("flag", ["-graph-fuse=max-ops=1", "--graph-fuse=max-ops=1"])
def test_options_of_passes(graph: Path, flag: str) -> None:
    status, out, err = run(graph, "-graph-simplify", flag, "--mlir-pass-statistics")
    assert status == 0 and out.count("graph.fusion") == 2
    assert "(S) 2 num-fusions - Number of groups formed" in err and "(S) 1 neg" not in err.partition("GraphFuse")[2]


def test_glued_short_options_are_refused(graph: Path) -> None:
    assert "unknown option -pcse" in run(graph, "-pcse")[2]


# Rules


@pytest.mark.parametrize(
    ("flags", "left"),
    [
        ([], [0, 0]),
        (["--without-rules=neg-of-neg"], [2, 2]),
        (["--only-rules=neg_of_neg"], [0, 0]),
        (["--only-rules=add_zero"], [2, 2]),
        (["--mlir-debug-counter=neg-of-neg:1"], [2, 0]),
        (["--mlir-debug-counter=neg-of-neg:0,1"], [0, 2]),
        (["--mlir-debug-counter=neg-of-neg-skip=1,neg-of-neg-count=1"], [2, 0]),
        (["--mlir-debug-counter=pass-execution:1"], [2, 2]),
    ],
)
def test_rules_are_limited(graph: Path, flags: list[str], left: list[int]) -> None:
    if flags == ["--only-rules=add_zero"]:
        from lamina.dialects.graph.rules import RULES, rules_by_root

        rules_by_root()
        flags = [f"--only-rules={next(rule.name for rule in RULES if rule.name != 'neg_of_neg')}"]
    assert negations(run(graph, "-graph-simplify", *flags)[1]) == left
    assert negations(run(graph, "-graph-simplify")[1]) == [0, 0]  # limits end with the run


def test_an_unknown_rule(graph: Path) -> None:
    assert "there is no rule 'neg-of-nog', did you mean neg_of_neg" in run(graph, "--without-rules=neg-of-nog")[2]


# Plugins and reproducers


def test_plugins(tmp_path: Path, plugin: Path) -> None:
    path = tmp_path / "hi.mlir"
    path.write_text('"hi.hi"() : () -> ()\n')
    status, out, err = run(path, f"--load-dialect-plugin={plugin}", "--test-drop-hi", "--dump-pass-pipeline")
    assert status == 0, err
    assert "hi.hi" not in out and "test-drop-hi{fails=false}" in err
    assert "cannot be loaded: ModuleNotFoundError" in run(path, "--load-pass-plugin=no.such.module")[2]


@pytest.mark.parametrize("local", [False, True])
def test_a_failure_writes_a_reproducer(graph: Path, tmp_path: Path, plugin: Path, local: bool) -> None:
    made = tmp_path / "made.mlir"
    load = f"--load-pass-plugin={plugin}"
    flags = ["--mlir-pass-pipeline-local-reproducer"] if local else []
    status, _, err = run(
        graph, load, "-graph-simplify", "-test-drop-hi=fails", f"--mlir-pass-pipeline-crash-reproducer={made}", *flags
    )
    assert status == 1
    assert f"Pipeline failed while executing [`test-drop-hi`]: reproducer generated at `{made}`" in err
    text = made.read_text()
    assert f'pipeline: "builtin.module({"" if local else "graph-simplify,"}test-drop-hi{{fails=true}})"' in text
    assert negations(text) == ([0, 0] if local else [2, 2])
    assert "KeyError: 'hi'" in run(made, load, "--run-reproducer")[2]


def test_a_reproducer_of_phases(graph: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.mlir"
    run(graph, "--compile-to=loop", f"--mlir-generate-reproducer={made}", "-o", "/dev/null")
    status, out, _ = run(made, "--run-reproducer")
    assert status == 0 and "loop.kernel" in out
    assert "has no resource 'mlir_reproducer'" in run(graph, "--run-reproducer")[2]


# Printing


def test_a_tree_of_files(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    run(
        graph,
        "-p",
        "builtin.module(func.func(graph-simplify),graph-cse)",
        "--mlir-print-ir-after-all",
        f"--mlir-print-ir-tree-dir={folder}",
    )
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.mlir")) == [
        "builtin_module_no-symbol-name/0_graph-cse.mlir",
        "builtin_module_no-symbol-name/func_func_f/0_0_graph-simplify.mlir",
        "builtin_module_no-symbol-name/func_func_g/0_0_graph-simplify.mlir",
    ]


def test_after_failure_prints_the_pass_that_failed(graph: Path, plugin: Path) -> None:
    err = run(graph, f"--load-pass-plugin={plugin}", "-graph-cse", "-test-drop-hi=fails", "--mlir-print-ir-after-failure")[2]
    assert re.findall("IR Dump .*", err) == ["IR Dump After TestDropHi Failed (test-drop-hi) //----- //"]


@pytest.mark.parametrize("way", ["--validate-each", "--compile-to=loop"])
def test_reports_under_other_ways_to_run(graph: Path, way: str) -> None:
    err = run(graph, "-graph-simplify", way, "--time-passes", "--print-ir-after=graph-simplify")[2]
    assert "IR Dump After GraphSimplifyPass (graph-simplify)" in err and re.search(r"%\)  GraphSimplifyPass\n", err)


def test_notes_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "twice.mlir"
    path.write_text("func.func @a() { return }\nfunc.func @a() { return }\n")
    assert "note: " in run(path)[2]
    status, _, err = run(path, "--mlir-disable-diagnostic-notes")
    assert status == 1 and "redefinition of symbol named 'a'" in err and "note: " not in err


# What passes, ops and dialects say of themselves


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        (
            "--help-op=graph.dot",
            ["contract [1] with [0]", "(C1)", "Syntax:", "%result = graph.dot $lhs, $rhs", "lhs: tensor", "Pure"],
        ),
        ("--help-op=arith.addf", ["arith.addf", "lhs", "Results:"]),
        ("--help-pass=loop-split", ["before", "after", "size: int", "(required)", "--loop-split='loop=<str> size=<int>'"]),
        ("--help-pass=graph-unroll", ["limit: int", "at most this many ops are unrolled fully (default: 64)"]),
        ("--help-pass=graph-fuse", ["num-fusions", "Number of groups formed"]),
        ("--help-pass=cse", ["cse (CommonSubexpressionElimination)"]),
        ("--help-dialect=loop", ["loop: a dialect of", "loop.for", "A counted loop"]),
    ],
)
def test_help(flag: str, expected: list[str]) -> None:
    status, out, _ = run(flag)
    assert status == 0
    for text in expected:
        assert text in out, out


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--help-op=graph.dto", "there is no op 'graph.dto', did you mean graph.dot"),
        ("--help-pass=loop-tiel", "unknown pass 'loop-tiel', did you mean loop-tile"),
        ("--help-dialect=lop", "there is no dialect 'lop', did you mean loop"),
    ],
)
def test_help_of_nothing(flag: str, message: str) -> None:
    status, _, err = run(flag)
    assert status == 2 and message in err


def test_every_op_and_pass_of_ours_has_a_page() -> None:
    from lamina.dialects.context import make_context
    from lamina.tools.reference import dialect_page, op_page, pass_page

    ctx = make_context()
    for dialect in ("graph", "loop", "program"):
        assert dialect_page(dialect, ctx)
        for op in ctx.get_optional_dialect(dialect).operations:  # pyright: ignore
            assert "Syntax:" in op_page(op.name, ctx) or "```mlir" in op_page(op.name, ctx), op.name
    for name in passes.our_passes():
        assert "Options:" in pass_page(name)


# Bytecode


@pytest.mark.skipif(find_spec("mlir") is None, reason="mlir-opt is not installed")
@pytest.mark.parametrize("phase", ["graph", "scheduled"])
def test_bytecode(graph: Path, tmp_path: Path, phase: str) -> None:
    made = tmp_path / "made.bc"
    assert run(graph, f"--compile-to={phase}", "--emit-bytecode", "-o", made)[0] == 0
    assert made.read_bytes().startswith(b"ML\xefR")
    text, again = run(graph, f"--compile-to={phase}", "-o", "-"), run(made)
    names = re.compile(r"\b(?:graph|loop|math|func|program)\.[a-z_]+\b")
    assert again[0] == 0 and names.findall(again[1]) == names.findall(text[1])
    assert f'"{graph}":' in run(made, "--mlir-print-debuginfo")[1]
    made.write_bytes(made.read_bytes()[:100])
    status, _, err = run(made)
    assert status == 1 and "mlir-opt" in err


# What is verified once for many ops


def test_a_wrong_op_among_many_alike_is_found(tmp_path: Path) -> None:
    good = "\n".join(f'  %v{k} = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>' for k in range(20))
    bad = '  %w = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<8xf32>'
    path = tmp_path / "many.mlir"
    path.write_text(f"func.func @f(%x: tensor<4xf32>) {{\n{good}\n{bad}\n{good.replace('%v', '%u')}\n  return\n}}\n")
    status, _, err = run(path)
    assert status == 1 and re.findall(r"mlir:(\d+):\d+: error", err) == ["22"]


def test_options_come_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file may name another; one that names itself is an error, and what is no file is an argument as any other."""
    (tmp_path / "in.mlir").write_text("func.func @f() { return }\n")
    (tmp_path / "inner").write_text("--mlir-print-op-generic\n")
    (tmp_path / "outer").write_text(f"-cse '@{tmp_path}/inner'\n{tmp_path}/in.mlir")
    assert main([f"@{tmp_path}/outer"]) == 0
    assert '"func.func"()' in capsys.readouterr().out
    (tmp_path / "itself").write_text(f"@{tmp_path}/itself")
    (tmp_path / "open").write_text("'no end")
    for name, said in (("itself", "nested more than"), ("open", "No closing quotation"), ("none", "no file")):
        assert main([f"@{tmp_path}/{name}"]) == 2
        assert said in capsys.readouterr().err
