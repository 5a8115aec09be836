// RUN: lamina-opt %s -p 'graph-outline-branches{least=2}' --verify-each --validate-each | filecheck %s
// RUN: lamina-opt %s -p 'graph-outline-branches{least=2},graph-if-to-select{limit=1000}' --verify-each --validate-each | filecheck %s --check-prefix=BACK

/// A product on each side: only one is computed.
// CHECK-LABEL: func.func @products
//  CHECK-NEXT:   graph.case %p [@products_branch_1, @products_branch](%x, %u, %w)
//  CHECK-NEXT:   return
func.func @products(%p: tensor<i1>, %x: tensor<4x4xf32>, %u: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %f = graph.broadcast %p to [] : tensor<i1> -> tensor<4x4xi1>
  %a = graph.dot %x, %u contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = graph.dot %x, %w contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %n = graph.neg %b : tensor<4x4xf32>
  %y = graph.select %f, %a, %n : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

/// Elementwise functions on scalars, and the way back.
// CHECK-LABEL: func.func @functions
//       CHECK:   graph.case %p
// BACK-LABEL: func.func @functions
//   BACK-NOT:   graph.case
//       BACK:   graph.select
func.func @functions(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %a = graph.exp %x : tensor<f32>
  %b = graph.tanh %x : tensor<f32>
  %y = graph.select %p, %a, %b : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

/// Each element has a condition of its own; both sides are needed elsewhere; both are cheap.
// CHECK-LABEL: func.func @no_scalar_condition
//   CHECK-NOT:   graph.case
//       CHECK:   return
func.func @no_scalar_condition(%p: tensor<4xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.exp %x : tensor<4xf32>
  %b = graph.tanh %x : tensor<4xf32>
  %y = graph.select %p, %a, %b : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
// CHECK-LABEL: func.func @no_side
//   CHECK-NOT:   graph.case
//       CHECK:   return
func.func @no_side(%p: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %a = graph.exp %x : tensor<f32>
  %b = graph.tanh %a : tensor<f32>
  %y = graph.select %p, %a, %b : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return %y, %b : tensor<f32>, tensor<f32>
}
