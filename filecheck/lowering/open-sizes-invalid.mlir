// RUN: lamina-opt %s -p graph-fuse,convert-graph-to-loop --split-input-file --verify-diagnostics

/// Sizes that are compared with numbers must be known well enough.

func.func @slices(%x: tensor<?xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{'graph.slice' op takes no symbolic size, got tensor<?xf32}}
  %y = graph.slice %x start [0] stop [2] step [1] : tensor<?xf32> -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

func.func @gather(%x: tensor<?x4xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> {
  // expected-error@+1 {{'graph.gather' op takes no symbolic size, got tensor<?x4xf32}}
  %y = graph.gather %x, %i at [0] : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// -----

/// A size that nothing gives.
func.func @nowhere(%x: tensor<4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{'graph.broadcast' op takes no symbolic size, got tensor<?x4xf32>}}
  %y = graph.broadcast %x to [1] : tensor<4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

/// Sizes that cannot be equal.
func.func @contradiction(%x: tensor<?xf32>, %y: tensor<4xf32>, %z: tensor<5xf32>) -> (tensor<f32>, tensor<f32>) {
  %a = graph.dot %x, %y contract [0] with [0] : (tensor<?xf32>, tensor<4xf32>) -> tensor<f32>
  // expected-error@+1 {{'graph.dot' op has sizes 4 and 5 that must be equal}}
  %b = graph.dot %x, %z contract [0] with [0] : (tensor<?xf32>, tensor<5xf32>) -> tensor<f32>
  return %a, %b : tensor<f32>, tensor<f32>
}
