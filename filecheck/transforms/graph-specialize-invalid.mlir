// RUN: lamina-opt %s -p 'graph-specialize{shapes=8x4,5}' --split-input-file --verify-diagnostics

/// A known dim of the argument is another.
// expected-error@+1 {{@main argument 1 is tensor<4xf32>: it cannot have shape [5]}}
func.func @main(%x: tensor<?x4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  return %b : tensor<4xf32>
}

// -----

/// The sizes do not fit an op: said there.
func.func @main(%x: tensor<?x?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@+1 {{'graph.dot' op}}
  %y = graph.dot %x, %b contract [1] with [0] : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

/// Nothing says how long the new dim is.
func.func @main(%x: tensor<?x4xf32>, %b: tensor<?xf32>) -> tensor<?x?xf32> {
  // expected-error@+1 {{'graph.broadcast' op result shape does not follow from its operands, got tensor<?x5xf32>}}
  %y = graph.broadcast %b to [1] : tensor<?xf32> -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

/// A size that was known only here no longer fits.
func.func @main(%x: tensor<?x4xf32>, %b: tensor<?xf32>) -> tensor<f32> {
  %c = graph.const dense<1.0> : tensor<4xf32>
  // expected-error@+1 {{'graph.dot' op contracting sizes}}
  %y = graph.dot %b, %c contract [0] with [0] : (tensor<?xf32>, tensor<4xf32>) -> tensor<f32>
  return %y : tensor<f32>
}
