// RUN: lamina-opt %s -p graph-transpose --split-input-file | filecheck %s

/// The transpose of a chain is the chain of transposes, backwards: reduce becomes broadcast, mul is its own.
// CHECK-LABEL: func.func @chain
//  CHECK-SAME:   (%[[CT:.+]]: tensor<f32>, %[[W:.+]]: tensor<4xf32>)
//  CHECK-NEXT:   %[[B:.+]] = graph.broadcast %[[CT]] to [] : tensor<f32> -> tensor<4xf32>
//  CHECK-NEXT:   %[[G:.+]] = graph.mul %[[B]], %[[W]]
//  CHECK-NEXT:   return %[[G]]
func.func @chain(%ct: tensor<f32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<4xf32>):
    %d = graph.mul %t, %w : tensor<4xf32>
    %s = graph.reduce add %d over [0] : tensor<4xf32> -> tensor<f32>
    graph.yield %s : tensor<f32>
  } : (tensor<f32>) -> (tensor<4xf32>)
  return %g : tensor<4xf32>
}

// -----

/// A value used twice gets the sum of what its users pass back.
// CHECK-LABEL: func.func @fan_out
//  CHECK-SAME:   (%[[CT:.+]]: tensor<4xf32>, %[[A:.+]]: tensor<4xf32>, %[[B:.+]]: tensor<4xf32>)
//  CHECK-NEXT:   %[[GB:.+]] = graph.mul %[[CT]], %[[B]]
//  CHECK-NEXT:   %[[GA:.+]] = graph.mul %[[CT]], %[[A]]
//  CHECK-NEXT:   %[[G:.+]] = graph.add %[[GB]], %[[GA]]
//  CHECK-NEXT:   return %[[G]]
func.func @fan_out(%ct: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<4xf32>):
    %u = graph.mul %t, %a : tensor<4xf32>
    %v = graph.mul %t, %b : tensor<4xf32>
    %s = graph.add %u, %v : tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>)
  return %g : tensor<4xf32>
}

// -----

/// A matrix product passes back products with the other matrix, no transposed copy among them.
// CHECK-LABEL: func.func @dot
//  CHECK-SAME:   (%[[CT:.+]]: tensor<2x4xf32>, %[[W:.+]]: tensor<3x4xf32>)
//  CHECK-NEXT:   %[[G:.+]] = graph.dot %[[CT]], %[[W]] contract [1] with [1] : {{.*}} -> tensor<2x3xf32>
//  CHECK-NEXT:   return %[[G]]
func.func @dot(%ct: tensor<2x4xf32>, %w: tensor<3x4xf32>) -> tensor<2x3xf32> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<2x3xf32>):
    %y = graph.dot %t, %w contract [1] with [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  } : (tensor<2x4xf32>) -> (tensor<2x3xf32>)
  return %g : tensor<2x3xf32>
}

// -----

/// What stands in the region without depending on its arguments is computed once, before.
// CHECK-LABEL: func.func @invariant
//  CHECK-SAME:   (%[[CT:.+]]: tensor<4xf32>, %[[X:.+]]: tensor<4xf32>)
//  CHECK-NEXT:   %[[C:.+]] = graph.cos %[[X]]
//  CHECK-NEXT:   %[[G:.+]] = graph.mul %[[CT]], %[[C]]
//  CHECK-NEXT:   return %[[G]]
func.func @invariant(%ct: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<4xf32>):
    %c = graph.cos %x : tensor<4xf32>
    %d = graph.mul %t, %c : tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>)
  return %g : tensor<4xf32>
}

// -----

/// An argument that the map ignores gets zeros.
// CHECK-LABEL: func.func @no_dependence
//  CHECK-SAME:   (%[[CT:.+]]: tensor<4xf32>)
//  CHECK-NEXT:   %[[Z:.+]] = graph.const dense<0.000000e+00>
//  CHECK-NEXT:   %[[B:.+]] = graph.broadcast %[[Z]]
//  CHECK-NEXT:   return %[[CT]], %[[B]]
func.func @no_dependence(%ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
  %g, %h = graph.transposed (%ct) {
  ^bb0(%t: tensor<4xf32>, %u: tensor<2xf32>):
    graph.yield %t : tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  return %g, %h : tensor<4xf32>, tensor<2xf32>
}

// -----

/// A call that is linear in an array becomes one of the kernel of cotangents.
// CHECK-LABEL: loop.kernel @scaled_adjoint_0(%w: memref<?xf32>, %cy: memref<?xf32>, %gx: memref<?xf32>, %N: index)
//       CHECK:     loop.load %cy[%i]
//       CHECK:     loop.store %{{.+}}, %gx[%i]
// CHECK-LABEL: func.func @kernel
//       CHECK:   graph.kernel @scaled_adjoint_0(%w, %ct,
loop.kernel @scaled(%x: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %w[%N], %y[%N]) {
  loop.for seq %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    %b = loop.load %w[%i] : memref<?xf32>
    %c = arith.mulf %a, %b : f32
    loop.store %c, %y[%i] : memref<?xf32>
  }
}
func.func @kernel(%ct: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<4xf32>):
    %y = graph.kernel @scaled(%t, %w, out) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %y : tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>)
  return %g : tensor<4xf32>
}
