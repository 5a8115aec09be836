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

/// A quotient is linear in what is divided, a gather in what it reads.
func.func @divisor(%ct: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<4xf32>):
    // expected-error@+1 {{'graph.div' op stands in a graph.transposed but is not linear in operand 1}}
    %d = graph.div %c, %t : tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>)
  return %g : tensor<4xf32>
}

// -----

func.func @place(%ct: tensor<4xf32>, %c: tensor<9xf32>) -> tensor<4xf32> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<4xf32>):
    %i = graph.convert %t : tensor<4xf32> -> tensor<4xi64>
    // expected-error@+1 {{'graph.gather' op stands in a graph.transposed but is not linear in operand 1}}
    %d = graph.gather %c, %i at [0] : (tensor<9xf32>, tensor<4xi64>) -> tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>)
  return %g : tensor<4xf32>
}

// -----

func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
func.func @called(%ct: tensor<4xf32>) -> tensor<4xf32> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<4xf32>):
    // expected-error@+1 {{'func.call' op stands in a graph.transposed but is not linear in operand 0}}
    %d = func.call @declared(%t) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>)
  return %g : tensor<4xf32>
}

// -----

/// Sizes that are not known are specialized first.
func.func private @open(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = graph.sin %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func @open_tangent(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@+1 {{'graph.jvp' op needs known shapes, @open has tensor<?xf32>: run graph-specialize first}}
  %y, %d = graph.jvp @open(%x) tangents(%x) wrt [0] : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
  return %d : tensor<?xf32>
}

// -----

func.func private @wide(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = graph.sin %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func @open_batch(%x: tensor<2x?xf32>) -> tensor<2x?xf32> {
  // expected-error@+1 {{'graph.vmap' op needs known shapes, @wide has tensor<?xf32>: run graph-specialize first}}
  %y = graph.vmap @wide(%x) axes [0] : (tensor<2x?xf32>) -> (tensor<2x?xf32>)
  return %y : tensor<2x?xf32>
}

// -----

/// Nor are extremes that are scattered, while sums and replacements are.
func.func @scattered(%ct: tensor<4xf32>, %i: tensor<2xi64>, %x: tensor<4xf32>) -> tensor<2xf32> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<2xf32>):
    // expected-error@+1 {{'graph.scatter' op of kind max is not linear}}
    %d = graph.scatter max %x, %t, %i at [0] : (tensor<4xf32>, tensor<2xf32>, tensor<2xi64>) -> tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<2xf32>)
  return %g : tensor<2xf32>
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
