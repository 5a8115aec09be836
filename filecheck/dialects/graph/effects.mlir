// RUN: lamina-opt %s | lamina-opt | filecheck %s
// RUN: lamina-opt %s --compile-to=optimized | filecheck %s --check-prefix=KEPT
// RUN: lamina-opt %s --compile-to=program | filecheck %s --check-prefix=HOST
// RUN: lamina-run %s --entry main --args iota:3xi64 | filecheck %s --check-prefix=VALUE
// RUN: lamina-run %s --interpret --entry main --args iota:3xi64 | filecheck %s --check-prefix=VALUE

/// The text of each effect, printed and parsed again.
// CHECK-LABEL: @syntax
//       CHECK: graph.print "x = {0}, y = {1:.2f}"(%x, %y) : (tensor<4xf32>, tensor<f32>) -> ()
//       CHECK: graph.print where %m "y = {0}"(%x) batch 1 : (tensor<4xi1>, tensor<4xf32>) -> ()
//       CHECK: graph.assert %ok "y is {0}"(%y) : (tensor<i1>, tensor<f32>) -> ()
//       CHECK: graph.callback "solve"(%x) pure vmap sequential : (tensor<4xf32>) -> (tensor<4xf32>)
//       CHECK: graph.callback "log"() : () -> ()
//       CHECK: graph.after %{{.*}}, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
func.func private @syntax(%x: tensor<4xf32>, %y: tensor<f32>, %m: tensor<4xi1>, %ok: tensor<i1>) -> tensor<4xf32> {
  graph.print "x = {0}, y = {1:.2f}"(%x, %y) : (tensor<4xf32>, tensor<f32>) -> ()
  graph.print where %m "y = {0}"(%x) batch 1 : (tensor<4xi1>, tensor<4xf32>) -> ()
  graph.assert %ok "y is {0}"(%y) : (tensor<i1>, tensor<f32>) -> ()
  %z = graph.callback "solve"(%x) pure vmap sequential : (tensor<4xf32>) -> (tensor<4xf32>)
  graph.callback "log"() : () -> ()
  %w = graph.after %z, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %w : tensor<4xf32>
}

/// What has no effect is kept only where it is used.
// KEPT-LABEL: func.func @pure
//   KEPT-NOT:   "unused"
//       KEPT:   graph.callback "used"
func.func @pure(%x: tensor<3xi64>) {
  %unused = graph.callback "unused"(%x) pure : (tensor<3xi64>) -> (tensor<3xi64>)
  %y = graph.callback "used"(%x) : (tensor<3xi64>) -> (tensor<3xi64>)
  return
}

func.func private @going(%i: tensor<i64>, %n: tensor<i64>) -> tensor<i1> {
  graph.print "at {0}"(%i) : (tensor<i64>) -> ()
  %p = graph.cmp lt %i, %n : tensor<i64>
  return %p : tensor<i1>
}
func.func private @step(%i: tensor<i64>, %n: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  %one = graph.const dense<1> : tensor<i64>
  %next = graph.add %i, %one : tensor<i64>
  return %next, %n : tensor<i64>, tensor<i64>
}

/// Effects stay in their order, equal ones both and those of loops that give nothing, and what is not used goes.
// KEPT-LABEL: func.func @main
//       KEPT:   graph.print "sum {0}"(
//       KEPT:   graph.print "sum {0}"(
//       KEPT:   graph.while
//       KEPT:   graph.assert
//       KEPT:   graph.print "end"
// HOST-LABEL: program.func @main
//       HOST:   loop.callback print "sum {0}" read(%{{.*}}) into() : (memref<i64>)
//       HOST:   loop.callback print "sum {0}" read(
//       HOST:   loop.repeat_while
//       HOST:   loop.callback assert "sum is {0}" where %{{.*}} read(%{{.*}}) into() : (memref<i1>, memref<i64>)
//       HOST:   loop.callback print "end"

//      VALUE: sum 3
// VALUE-NEXT: sum 3
// VALUE-NEXT: at 0
// VALUE-NEXT: at 1
// VALUE-NEXT: at 2
// VALUE-NEXT: end
func.func @main(%x: tensor<3xi64>) -> tensor<3xi64> {
  %s = graph.reduce add %x over [0] : tensor<3xi64> -> tensor<i64>
  graph.print "sum {0}"(%s) : (tensor<i64>) -> ()
  graph.print "sum {0}"(%s) : (tensor<i64>) -> ()
  %zero = graph.const dense<0> : tensor<i64>
  %two = graph.const dense<2> : tensor<i64>
  %i, %n = graph.while @going do @step consts() carry(%zero, %two) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  %ok = graph.cmp lt %zero, %s : tensor<i64>
  graph.assert %ok "sum is {0}"(%s) : (tensor<i1>, tensor<i64>) -> ()
  graph.print "end"() : () -> ()
  %y = graph.neg %x : tensor<3xi64>
  return %y : tensor<3xi64>
}
