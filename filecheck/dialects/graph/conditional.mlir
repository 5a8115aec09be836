// RUN: lamina-opt %s | lamina-opt | filecheck %s --check-prefix=SYNTAX
// RUN: lamina-opt %s -p 'graph-dce,graph-fuse,graph-collapse-dims,convert-graph-to-loop,plan-buffers' | filecheck %s --check-prefix=PROGRAM
// RUN: lamina-opt %s -p 'graph-dce,graph-fuse,graph-collapse-dims,convert-graph-to-loop,plan-buffers' | lamina-opt --verify-each | filecheck %s --check-prefix=PROGRAM
// RUN: lamina-run %s --entry main --args 3 iota:4xf32 --compare | filecheck %s --check-prefix=VALUE
// RUN: lamina-opt %s -p 'graph-dce,graph-fuse,graph-collapse-dims,convert-graph-to-loop,plan-buffers' | lamina-run - --entry main --args 0 iota:4xf32 --compare | filecheck %s --check-prefix=VALUE
// RUN: lamina-run %s --entry choice --args -1 iota:4xf32 --compare | filecheck %s --check-prefix=VALUE
// RUN: lamina-run %s --entry choice --args 7 iota:4xf32 --compare | filecheck %s --check-prefix=VALUE

// RUN: lamina-run %s --entry calls --args iota:4xf32 --compare | filecheck %s --check-prefix=VALUE
// RUN: lamina-opt %s -p 'graph-dce,graph-fuse,graph-collapse-dims,convert-graph-to-loop,plan-buffers' | lamina-run - --entry calls --args iota:4xf32 --compare | filecheck %s --check-prefix=VALUE

// VALUE: result 0: largest difference 0,

/// A condition and a body are host functions that are called in turns; what the body can write over what it was stays in one
/// buffer.

func.func private @going(%n: tensor<i64>, %i: tensor<i64>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<i1> {
  %c = graph.cmp lt %i, %n : tensor<i64>
  return %c : tensor<i1>
}
func.func private @turn(%n: tensor<i64>, %i: tensor<i64>, %x: tensor<4xf32>, %y: tensor<4xf32>)
    -> (tensor<i64>, tensor<4xf32>, tensor<4xf32>) {
  %one = graph.const dense<1> : tensor<i64>
  %j = graph.add %i, %one : tensor<i64>
  return %j, %y, %x : tensor<i64>, tensor<4xf32>, tensor<4xf32>
}
// SYNTAX-LABEL: func.func @main
// SYNTAX: %{{.*}} = graph.while @going do @turn consts(%n) carry(%i0, %x, %y) : (tensor<i64>, tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<4xf32>)
// PROGRAM-LABEL: program.func private @going(%n: memref<i64>, %i: memref<i64>, {{.*}}) -> (%result: memref<i1>)
// PROGRAM-LABEL: program.func private @turn({{.*}}) -> (%result0: memref<i64> over %i, %result1: memref<4xf32>, %result2: memref<4xf32> over %y)
// PROGRAM-LABEL: program.func @main
// PROGRAM: loop.repeat_while @going do @turn flag(%going) consts(%n) carry(%result0, %result1, %result2) spare(%result0, %x_1, %result2) arena(%{{.*}}) : (memref<i1>, memref<i64>, memref<i64>, memref<4xf32>, memref<4xf32>, memref<i64>, memref<4xf32>, memref<4xf32>, memref<{{.*}}xi8>)
func.func @main(%n: tensor<i64>, %x: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<4xf32>) {
  %i0 = graph.const dense<0> : tensor<i64>
  %y = graph.neg %x : tensor<4xf32>
  %i, %a, %b = graph.while @going do @turn consts(%n) carry(%i0, %x, %y)
      : (tensor<i64>, tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<4xf32>)
  return %i, %a, %b : tensor<i64>, tensor<4xf32>, tensor<4xf32>
}

func.func private @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
// SYNTAX-LABEL: func.func @choice
// SYNTAX: graph.case %k [@same, @twice, @same](%x) : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>)
// PROGRAM-LABEL: program.func @choice
// PROGRAM: loop.branch %k [@same, @twice, @same] read(%x) into(%result) arena(%{{.*}}) : (memref<i64>, memref<4xf32>, memref<4xf32>, memref<{{.*}}xi8>)
func.func @choice(%k: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.case %k [@same, @twice, @same](%x) : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// SYNTAX-LABEL: func.func @if
// SYNTAX: graph.case %p [@same, @twice](%x) linear [0] : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>)
// PROGRAM-LABEL: program.func @if
// PROGRAM: loop.branch %p [@same, @twice] read(%x) into(%result)
func.func @if(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.case %p [@same, @twice](%x) linear [0] : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

/// A function that stays one: it is compiled once, and called.
// SYNTAX-LABEL: func.func @calls
// SYNTAX: graph.call @twice(%x) linear [0] : (tensor<4xf32>) -> (tensor<4xf32>)
// PROGRAM-LABEL: program.func @calls
// PROGRAM: loop.call @twice read(%x) into(%{{.*}}) arena(%{{.*}}) : (memref<4xf32>, memref<4xf32>, memref<{{.*}}xi8>)
// PROGRAM: loop.call @twice read(%{{.*}}) into(%result)
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.call @twice(%x) linear [0] : (tensor<4xf32>) -> (tensor<4xf32>)
  %z = graph.call @twice(%y) : (tensor<4xf32>) -> (tensor<4xf32>)
  return %z : tensor<4xf32>
}
