// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @no_callee(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.jvp' op names no function of the module: @f}}
  %y, %d = graph.jvp @f(%x) tangents(%x) wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %d : tensor<4xf32>
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @arguments(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{'graph.vjp' op arguments must be those of @f, (tensor<4xf32>), got (tensor<3xf32>)}}
  %y, %d = graph.vjp @f(%x) cotangents(%x) wrt [0] : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return %d : tensor<3xf32>
}

// -----

func.func private @f(%x: tensor<4xi32>) -> tensor<4xi32> {
  return %x : tensor<4xi32>
}
func.func @integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error@+1 {{'graph.jvp' op can only differentiate by float arguments, got argument 0}}
  %y = graph.jvp @f(%x) tangents(%x) wrt [0] : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>)
  return %y : tensor<4xi32>
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @gradients(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.vjp' op results must be (tensor<4xf32>, tensor<4xf32>)}}
  %y = graph.vjp @f(%x) cotangents(%x) wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @sizes(%x: tensor<8x4xf32>, %y: tensor<7x4xf32>) -> tensor<8x4xf32> {
  // expected-error@+1 {{'graph.vmap' op mapped sizes must agree, got [7, 8]}}
  %z = graph.vmap @f(%x, %y) axes [0, 0] : (tensor<8x4xf32>, tensor<7x4xf32>) -> (tensor<8x4xf32>)
  return %z : tensor<8x4xf32>
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @stacked(%x: tensor<8x4xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{'graph.vmap' op results must be (tensor<8x4xf32>), got (tensor<4x8xf32>)}}
  %z = graph.vmap @f(%x) axes [0] : (tensor<8x4xf32>) -> (tensor<4x8xf32>)
  return %z : tensor<4x8xf32>
}

// -----

func.func @yielded(%ct: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.transposed' op region must yield one value of the type of each cotangent}}
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<4xf32>):
    graph.yield
  } : (tensor<4xf32>) -> (tensor<4xf32>)
  return %g : tensor<4xf32>
}
