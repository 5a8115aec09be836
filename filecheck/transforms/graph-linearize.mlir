// RUN: lamina-opt %s -p graph-linearize --split-input-file | filecheck %s

/// Forward mode: each op is followed by the tangent of its result, by the kind of derivative it declares.
// CHECK-LABEL: func.func @forward
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xf32>, %[[T:.+]]: tensor<4xf32>)
//  CHECK-NEXT:   %[[S:.+]] = graph.sin %[[X]]
//  CHECK-NEXT:   %[[C:.+]] = graph.cos %[[X]]
//  CHECK-NEXT:   %[[DS:.+]] = graph.mul %[[T]], %[[C]]
//  CHECK-NEXT:   %[[N:.+]] = graph.neg %[[S]]
//  CHECK-NEXT:   %[[DN:.+]] = graph.neg %[[DS]]
//  CHECK-NEXT:   return %[[N]], %[[DN]]
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.sin %x : tensor<4xf32>
  %n = graph.neg %s : tensor<4xf32>
  return %n : tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>, %t: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %dy = graph.jvp @f(%x) tangents(%t) wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %y, %dy : tensor<4xf32>, tensor<4xf32>
}

// -----

/// Reverse mode: values first, what the linear map needs (cos x) among them; the map itself stays in a region.
// CHECK-LABEL: func.func @reverse
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xf32>, %[[CT:.+]]: tensor<4xf32>)
//       CHECK:   %[[S:.+]] = graph.sin %[[X]]
//       CHECK:   %[[C:.+]] = graph.cos %[[X]]
//  CHECK-NEXT:   %[[G:.+]] = graph.transposed (%[[CT]]) {
//  CHECK-NEXT:   ^bb0(%[[T:.+]]: tensor<4xf32>):
//  CHECK-NEXT:     %[[D:.+]] = graph.mul %[[T]], %[[C]]
//  CHECK-NEXT:     graph.yield %[[D]]
//  CHECK-NEXT:   }
//  CHECK-NEXT:   return %[[S]], %[[G]]
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.sin %x : tensor<4xf32>
  return %s : tensor<4xf32>
}
func.func @reverse(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %g = graph.vjp @f(%x) cotangents(%ct) wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %y, %g : tensor<4xf32>, tensor<4xf32>
}

// -----

/// A zero tangent is not built: of x * w only x varies, so one product is left.
// CHECK-LABEL: func.func @zero_is_symbolic
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xf32>, %[[W:.+]]: tensor<4xf32>, %[[T:.+]]: tensor<4xf32>)
//  CHECK-NEXT:   graph.mul %[[X]], %[[W]]
//  CHECK-NEXT:   %[[D:.+]] = graph.mul %[[T]], %[[W]]
//  CHECK-NEXT:   return %[[D]]
func.func private @f(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %p = graph.mul %x, %w : tensor<4xf32>
  return %p : tensor<4xf32>
}
func.func @zero_is_symbolic(%x: tensor<4xf32>, %w: tensor<4xf32>, %t: tensor<4xf32>) -> tensor<4xf32> {
  %y, %d = graph.jvp @f(%x, %w) tangents(%t) wrt [0]
    : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %d : tensor<4xf32>
}

// -----

/// A function that takes a derivative is itself expanded first: second order, forward over reverse.
// CHECK-LABEL: func.func @second_order
//   CHECK-NOT:   graph.vjp
//   CHECK-NOT:   graph.jvp
//       CHECK:   graph.cos
//       CHECK:   graph.sin
//       CHECK:   return
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %s = graph.sin %x : tensor<f32>
  return %s : tensor<f32>
}
func.func private @df(%x: tensor<f32>) -> tensor<f32> {
  %one = graph.const dense<1.0> : tensor<f32>
  %y, %g = graph.vjp @f(%x) cotangents(%one) wrt [0] : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %g : tensor<f32>
}
func.func @second_order(%x: tensor<f32>) -> tensor<f32> {
  %one = graph.const dense<1.0> : tensor<f32>
  %y, %d = graph.jvp @df(%x) tangents(%one) wrt [0] : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %d : tensor<f32>
}

// -----

/// What does not depend on the arguments has no tangent; integers have none either.
// CHECK-LABEL: func.func @through_integers
//       CHECK:   graph.convert
//       CHECK:   %[[Z:.+]] = graph.const dense<0.000000e+00> : tensor<f32>
//  CHECK-NEXT:   %[[B:.+]] = graph.broadcast %[[Z]]
//  CHECK-NEXT:   return %[[B]]
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %i = graph.convert %x : tensor<4xf32> -> tensor<4xi32>
  %y = graph.convert %i : tensor<4xi32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @through_integers(%x: tensor<4xf32>, %t: tensor<4xf32>) -> tensor<4xf32> {
  %y, %d = graph.jvp @f(%x) tangents(%t) wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %d : tensor<4xf32>
}

// -----

/// Without derivatives nothing happens.
// CHECK-LABEL: func.func @no_derivative
//  CHECK-NEXT:   graph.sin
//  CHECK-NEXT:   return
func.func @no_derivative(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.sin %x : tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

/// The tangents of a kernel are results of another kernel.
// CHECK-LABEL: loop.kernel @square_tangent_0(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %N: index)
//       CHECK:     %[[A:.+]] = loop.load %x[%i]
//  CHECK-NEXT:     %[[D:.+]] = loop.load %dx[%i]
//       CHECK:     loop.store %{{.+}}, %y[%i]
//  CHECK-NEXT:     loop.store %{{.+}}, %dy[%i]
// CHECK-LABEL: func.func @kernel
//  CHECK-NEXT:   %{{.+}}, %{{.+}} = graph.kernel @square_tangent_0(%x, out, %t, out)
loop.kernel @square(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  loop.for seq %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    loop.store %b, %y[%i] : memref<?xf32>
  }
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.kernel @square(%x, out) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @kernel(%x: tensor<4xf32>, %t: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %ty = graph.jvp @f(%x) tangents(%t) wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %y, %ty : tensor<4xf32>, tensor<4xf32>
}
