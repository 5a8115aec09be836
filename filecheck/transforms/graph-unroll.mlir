// RUN: lamina-opt %s -p 'graph-unroll{limit=12}' --verify-each --validate-each | filecheck %s
// RUN: lamina-opt %s -p 'graph-unroll{limit=2 factor=2}' --verify-each --validate-each | filecheck %s --check-prefix=FACTOR
// RUN: lamina-opt %s -p 'graph-unroll{limit=2 factor=2}' | lamina-run - --entry sums --args iota:5x2xf32 --compare | filecheck %s --check-prefix=VALUE
// RUN: lamina-opt %s -p 'graph-unroll' | lamina-run - --entry backwards --args iota:5x2xf32 --compare | filecheck %s --check-prefix=VALUE
// VALUE: result 0: largest difference 0,

func.func private @add(%i: tensor<i64>, %s: tensor<2xf32>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %y = graph.add %s, %x : tensor<2xf32>
  return %y, %y : tensor<2xf32>, tensor<2xf32>
}

/// Slices of the stack, one after the other; what they give is put together.
// CHECK-LABEL: func.func @sums
//   CHECK-NOT:   graph.for
// CHECK-COUNT-5: graph.add
//       CHECK:   graph.concat %{{.*}} along 0
/// Two steps an iteration, and one that is left.
// FACTOR-LABEL: func.func @sums
//       FACTOR:   graph.reshape %{{.*}} : tensor<4x2xf32> -> tensor<2x2x2xf32>
//       FACTOR:   graph.for @add_unrolled count 2 consts() carry(%{{.*}}) over(%{{.*}}) : {{.*}} -> (tensor<2xf32>, tensor<2x2x2xf32>)
//       FACTOR:   graph.add
//       FACTOR:   graph.concat
func.func @sums(%xs: tensor<5x2xf32>) -> (tensor<2xf32>, tensor<5x2xf32>) {
  %zero = graph.const dense<0.0> : tensor<2xf32>
  %s, %ys = graph.for @add count 5 consts() carry(%zero) over(%xs) : (tensor<2xf32>, tensor<5x2xf32>) -> (tensor<2xf32>, tensor<5x2xf32>)
  return %s, %ys : tensor<2xf32>, tensor<5x2xf32>
}

/// From the last slice to the first: what is left comes first.
// FACTOR-LABEL: func.func @backwards
//       FACTOR:   graph.slice %xs start [4, 0] stop [5, 2]
//       FACTOR:   graph.add
//       FACTOR:   graph.for @add_unrolled{{.*}} count 2 reverse
func.func @backwards(%xs: tensor<5x2xf32>) -> (tensor<2xf32>, tensor<5x2xf32>) {
  %zero = graph.const dense<0.0> : tensor<2xf32>
  %s, %ys = graph.for @add count 5 reverse consts() carry(%zero) over(%xs) : (tensor<2xf32>, tensor<5x2xf32>) -> (tensor<2xf32>, tensor<5x2xf32>)
  return %s, %ys : tensor<2xf32>, tensor<5x2xf32>
}

/// Effects happen in the order of the iterations.
func.func private @told(%i: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  graph.print "{0}"(%i) : (tensor<i64>) -> ()
  %y = graph.add %x, %x : tensor<f32>
  return %y : tensor<f32>
}
// CHECK-LABEL: func.func @effects
//       CHECK:   graph.print "{0}"(%[[ZERO:.*]])
//       CHECK:   graph.print "{0}"(%[[ONE:.*]])
func.func @effects(%x: tensor<f32>) -> tensor<f32> {
  %y = graph.for @told count 2 consts() carry(%x) over() : (tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

/// Too many ops, or a count that only a run tells.
// CHECK-LABEL: func.func @no_large
//       CHECK:   graph.for @told count 100
//       CHECK:   graph.for @told count %n
func.func @no_large(%x: tensor<f32>, %n: tensor<i64>) -> tensor<f32> {
  %y = graph.for @told count 100 consts() carry(%x) over() : (tensor<f32>) -> (tensor<f32>)
  %z = graph.for @told count %n consts() carry(%y) over() : (tensor<i64>, tensor<f32>) -> (tensor<f32>)
  return %z : tensor<f32>
}
