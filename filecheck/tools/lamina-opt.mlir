// RUN: lamina-opt %s -p 'canonicalize,cse' --print-ir-after=canonicalize --time-passes 2>&1 | filecheck %s --check-prefix=AFTER
// RUN: lamina-opt %s -p canonicalize --print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: lamina-opt %s --compile-to=graph | lamina-opt --compile-to=graph | filecheck %s --check-prefix=GRAPH
// RUN: not lamina-opt %s -p canonicalise 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not lamina-opt %s.missing 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not lamina-opt %s --print-ir-aftr-all 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: lamina-opt --list-passes | filecheck %s --check-prefix=LIST

// AFTER:      // -----// IR Dump After Canonicalizer (canonicalize) //----- //
// AFTER:      @f
// AFTER:      ... Execution time report ...
// AFTER:      ----Wall Time----  ----Name----
// AFTER-NEXT: Parser
// AFTER-NEXT: Canonicalizer
// AFTER-NEXT: CSE
// AFTER-NEXT: Output
// AFTER-NEXT: Rest
// AFTER-NEXT: Total

/// Locations are those of the input.
// LOC:      arith.addf %x, %x : f32 loc(#[[ADD:.+]])
// LOC:      #[[ADD]] = loc("{{.*}}lamina-opt.mlir":{{[0-9]+}}:8)

/// A module remembers its phase, so that its text can be continued.
// GRAPH:      builtin.module attributes {lamina.phase = "graph", lamina.version = 2 : i64}

// UNKNOWN:  lamina-opt: error: unknown pass 'canonicalise', did you mean canonicalize
// MISSING:  lamina-opt: error: no file
// OPTION:   lamina-opt: error: unknown option --print-ir-aftr-all, did you mean --print-ir-after-all?
// LIST:     --graph-fuse {{.*}}Group ops

func.func @f(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32
  return %y : f32
}
