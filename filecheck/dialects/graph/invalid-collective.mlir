// RUN: lamina-opt %s --split-input-file --verify-diagnostics

/// Every constraint of the collectives.
func.func @psum_c1_index(%x: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{'graph.psum' op the index along the axis must be one i64, got tensor<i32>}}
  %r = graph.psum %x at %i of 8 : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @psum_c2_size(%x: tensor<4xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{'graph.psum' op the axis must have elements, got size 0}}
  %r = graph.psum %x at %i of 0 : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @psum_c3_element(%x: tensor<4xi1>, %i: tensor<i64>) {
  // expected-error@+1 {{'graph.psum' op element type must be an integer or a float, got i1}}
  %r = graph.psum %x at %i of 8 : (tensor<4xi1>, tensor<i64>) -> tensor<4xi1>
  return
}

// -----

func.func @all_gather_c1_index(%x: tensor<4xf32>, %i: tensor<8xi64>) {
  // expected-error@+1 {{'graph.all_gather' op the index along the axis must be one i64, got tensor<8xi64>}}
  %r = graph.all_gather %x at %i of 8 : (tensor<4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  return
}

// -----

func.func @all_gather_c2_size(%x: tensor<4xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{'graph.all_gather' op the axis must have elements, got size -1}}
  %r = graph.all_gather %x at %i of -1 : (tensor<4xf32>, tensor<i64>) -> tensor<8x4xf32>
  return
}
