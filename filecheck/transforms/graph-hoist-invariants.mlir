// RUN: lamina-opt %s -p 'graph-hoist-invariants' --verify-each | filecheck %s
// RUN: lamina-opt %s -p 'graph-hoist-invariants' | lamina-run - --entry counted --args iota:4xf32 iota:4xf32 --compare | filecheck %s --check-prefix=VALUE
/// Compiled exponentials are rounded otherwise than NumPy's, by at most a unit in the last place.
// VALUE: result 0: largest difference {{(0|[0-9.]+e-0[78])}},

func.func private @scale(%i: tensor<i64>, %w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %n = graph.neg %w : tensor<4xf32>
  %e = graph.exp %n : tensor<4xf32>
  %t = graph.add %w, %w : tensor<4xf32>
  %y = graph.mul %x, %e : tensor<4xf32>
  %z = graph.mul %y, %t : tensor<4xf32>
  return %z : tensor<4xf32>
}
/// The exponential leaves the loop with what it needs; the sum is as cheap as reading it, and stays.
// CHECK-LABEL: func.func private @scale_1(%i: tensor<i64>, %w: tensor<4xf32>, %e: tensor<4xf32>, %x: tensor<4xf32>)
//   CHECK-NOT:   graph.exp
//       CHECK:   graph.add %w, %w
//       CHECK:   graph.mul %x, %e
// CHECK-LABEL: func.func @counted
//       CHECK:   %[[N:.*]] = graph.neg %w
//       CHECK:   %[[E:.*]] = graph.exp %[[N]]
//       CHECK:   graph.for @scale_1 count 3 consts(%w, %[[E]]) carry(%x) over()
func.func @counted(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.for @scale count 3 consts(%w) carry(%x) over() : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

/// What changes from iteration to iteration stays, and so do effects and cheap ops.
func.func private @changing(%i: tensor<i64>, %w: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  graph.print "{0}"(%w) : (tensor<f32>) -> ()
  %e = graph.exp %x : tensor<f32>
  %t = graph.add %w, %w : tensor<f32>
  %y = graph.mul %e, %t : tensor<f32>
  return %y : tensor<f32>
}
// CHECK-LABEL: func.func @no_invariants
//  CHECK-NEXT:   graph.for @changing count 3
func.func @no_invariants(%w: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %y = graph.for @changing count 3 consts(%w) carry(%x) over() : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

/// A while loop: condition and body take the same consts.
func.func private @small(%w: tensor<f32>, %x: tensor<f32>) -> tensor<i1> {
  %c = graph.cmp lt %x, %w : tensor<f32>
  return %c : tensor<i1>
}
func.func private @grow(%w: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %e = graph.exp %w : tensor<f32>
  %y = graph.add %x, %e : tensor<f32>
  return %y : tensor<f32>
}
// CHECK-LABEL: func.func @while
//       CHECK:   %[[E:.*]] = graph.exp %w
//       CHECK:   graph.while @small_1 do @grow_1 consts(%w, %[[E]]) carry(%x)
func.func @while(%w: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %y = graph.while @small do @grow consts(%w) carry(%x) : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}
