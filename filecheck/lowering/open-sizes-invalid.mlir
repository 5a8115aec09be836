// RUN: lamina-opt %s -p graph-fuse,convert-graph-to-loop --split-input-file --verify-diagnostics

/// Sizes that are compared with numbers must be known well enough.

func.func @groups(%x: tensor<1x?x8xf32>, %w: tensor<4x?x3xf32>) -> tensor<1x4x6xf32> {
  // expected-error@+1 {{'graph.conv' op takes no symbolic size, got tensor<1x?x8xf32, #graph.sizes<"N">>: whether N - 2 * floordiv(N, 2) > 0 is not known}}
  %y = graph.conv %x, %w stride [1] low [0] high [0] dilation [1] groups 2 : (tensor<1x?x8xf32>, tensor<4x?x3xf32>) -> tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
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

// -----

func.func @shifted(%x: tensor<?xf32>, %c: tensor<1xf32>) -> tensor<?xf32> {
  %s = graph.concat %x, %c along 0 : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
  // expected-error@+1 {{'graph.add' op needs equal sizes, they are N and N + 1}}
  %y = graph.add %x, %s : tensor<?xf32>
  return %y : tensor<?xf32>
}
