// RUN: lamina-opt %s -p 'graph-vmap,graph-linearize,graph-transpose' --split-input-file --verify-diagnostics

/// exp is not linear.
func.func @nonlinear(%ct: tensor<4xf32>) -> tensor<4xf32> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<4xf32>):
    // expected-error@+1 {{'graph.exp' op stands in a graph.transposed but is not linear in operand 0}}
    %d = graph.exp %t : tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>)
  return %g : tensor<4xf32>
}

// -----

/// A product of two arguments is bilinear, not linear.
func.func @bilinear(%ct: tensor<4xf32>) -> tensor<4xf32> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<4xf32>):
    // expected-error@+1 {{'graph.mul' op stands in a graph.transposed but is not linear in operand 0, 1}}
    %d = graph.mul %t, %t : tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>)
  return %g : tensor<4xf32>
}

// -----

/// Of the reductions only sums are linear.
func.func @maximum(%ct: tensor<f32>) -> tensor<4xf32> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<4xf32>):
    // expected-error@+1 {{'graph.reduce' op of kind max is not linear}}
    %d = graph.reduce max %t over [0] : tensor<4xf32> -> tensor<f32>
    graph.yield %d : tensor<f32>
  } : (tensor<f32>) -> (tensor<4xf32>)
  return %g : tensor<4xf32>
}

// -----

/// A function that is only declared has no derivative.
func.func private @unknown(tensor<4xf32>) -> tensor<4xf32>
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'func.call' op has no derivative}}
  %y = func.call @unknown(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @opaque_call(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y, %d = graph.jvp @f(%x) tangents(%x) wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %d : tensor<4xf32>
}

// -----

/// Recursion cannot be expanded.
// expected-error@+1 {{'func.func' op @f calls itself: recursion cannot be compiled}}
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %y = func.call @f(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func @recursion(%x: tensor<f32>) -> tensor<f32> {
  %y, %d = graph.jvp @f(%x) tangents(%x) wrt [0] : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %d : tensor<f32>
}

// -----

/// Derivatives need known shapes.
func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func @unknown_shape(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@+1 {{'graph.jvp' op needs known shapes, @f has tensor<?xf32>: run graph-specialize first}}
  %y, %d = graph.jvp @f(%x) tangents(%x) wrt [0] : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
  return %d : tensor<?xf32>
}

// -----

/// The wrong number of tangents does not verify.
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @no_tangent(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.jvp' op tangents must be (tensor<4xf32>), got ()}}
  %y, %d = graph.jvp @f(%x) tangents() wrt [0] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %d : tensor<4xf32>
}
