// RUN: lamina-opt %s --verify-diagnostics --split-input-file

/// Convolutions and windows: every constraint, the message that names it, and the facts.

func.func @conv_c1_element_types(%x: tensor<1x2x4xf32>, %w: tensor<3x2x2xf64>) {
  // expected-error@+1 {{'graph.conv' op operand element types must be equal, x is f32, w is f64}}
  %y = graph.conv %x, %w stride [1] low [0] high [0] groups 1 : (tensor<1x2x4xf32>, tensor<3x2x2xf64>) -> tensor<1x3x3xf32>
  return
}

// -----

func.func @conv_c1_numbers(%x: tensor<1x2x4xi1>, %w: tensor<3x2x2xi1>) {
  // expected-error@+1 {{'graph.conv' op operand element type must be an integer or a float, got i1}}
  %y = graph.conv %x, %w stride [1] low [0] high [0] groups 1 : (tensor<1x2x4xi1>, tensor<3x2x2xi1>) -> tensor<1x3x3xi1>
  return
}

// -----

func.func @conv_c2_rank(%x: tensor<1x2x4xf32>, %w: tensor<3x2x2xf32>) {
  // expected-error@+1 {{'graph.conv' op needs operands of rank 4 for 2 strides, got [1,2,4] and [3,2,2]}}
  %y = graph.conv %x, %w stride [1, 1] low [0, 0] high [0, 0] groups 1 : (tensor<1x2x4xf32>, tensor<3x2x2xf32>) -> tensor<1x3x3xf32>
  return
}

// -----

func.func @conv_c3_entries(%x: tensor<1x2x4xf32>, %w: tensor<3x2x2xf32>) {
  // expected-error@+1 {{'graph.conv' op low, high and dilations need one entry for each of 1 spatial dims}}
  %y = graph.conv %x, %w stride [1] low [0, 0] high [0] groups 1 : (tensor<1x2x4xf32>, tensor<3x2x2xf32>) -> tensor<1x3x3xf32>
  return
}

// -----

func.func @conv_c3_stride(%x: tensor<1x2x4xf32>, %w: tensor<3x2x2xf32>) {
  // expected-error@+1 {{'graph.conv' op strides and dilations must be at least 1, got [0], [1], [1]}}
  %y = graph.conv %x, %w stride [0] low [0] high [0] groups 1 : (tensor<1x2x4xf32>, tensor<3x2x2xf32>) -> tensor<1x3x3xf32>
  return
}

// -----

func.func @conv_c4_dims(%x: tensor<1x2x4xf32>, %w: tensor<3x2x2xf32>) {
  // expected-error@+1 {{'graph.conv' op x_dims must be a permutation of [0, 1, 2], got [0, 1, 1]}}
  %y = graph.conv %x, %w stride [1] low [0] high [0] x_dims [0, 1, 1] groups 1 : (tensor<1x2x4xf32>, tensor<3x2x2xf32>) -> tensor<1x3x3xf32>
  return
}

// -----

func.func @conv_c5_groups(%x: tensor<1x4x4xf32>, %w: tensor<3x2x2xf32>) {
  // expected-error@+1 {{'graph.conv' op groups must divide the features of x and the result, got 2, 4 and 3}}
  %y = graph.conv %x, %w stride [1] low [0] high [0] groups 2 : (tensor<1x4x4xf32>, tensor<3x2x2xf32>) -> tensor<1x3x3xf32>
  return
}

// -----

func.func @conv_c5_features(%x: tensor<1x4x4xf32>, %w: tensor<4x3x2xf32>) {
  // expected-error@+1 {{'graph.conv' op a filter must have the features of one group, x has 4 in 2, a filter 3}}
  %y = graph.conv %x, %w stride [1] low [0] high [0] groups 2 : (tensor<1x4x4xf32>, tensor<4x3x2xf32>) -> tensor<1x4x3xf32>
  return
}

// -----

func.func @conv_c6_padding(%x: tensor<1x2x4xf32>, %w: tensor<3x2x2xf32>) {
  // expected-error@+1 {{'graph.conv' op padded sizes must not be negative, got [-1]}}
  %y = graph.conv %x, %w stride [1] low [-3] high [-2] groups 1 : (tensor<1x2x4xf32>, tensor<3x2x2xf32>) -> tensor<1x3x0xf32>
  return
}

// -----

func.func @conv_c7_tile(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x3x3xf32>) {
  // expected-error@+1 {{'graph.conv' op tile must be of ones, or [2, 2] or [4, 4] for 3x3 filters of f32 in one group, strides and dilations 1, got [4, 4] for stride [2, 2] and filters of [3,3]}}
  %y = graph.conv %x, %w stride [2, 2] low [1, 1] high [1, 1] groups 1 tile [4, 4]
    : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @reduce_window_c1_kind(%x: tensor<8xf32>) {
  // expected-error@+1 {{'graph.reduce_window' op kind must be one of add, mul, max, min, got or}}
  %y = graph.reduce_window or %x window [2] stride [2] low [0] high [0] dilation [1] : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_window_c2_entries(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'graph.reduce_window' op window, stride, low, high and dilation need one entry for each dim of [8,8]}}
  %y = graph.reduce_window max %x window [2] stride [2] low [0] high [0] dilation [1] : tensor<8x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @reduce_window_c2_sizes(%x: tensor<8xf32>) {
  // expected-error@+1 {{'graph.reduce_window' op windows, strides and dilations must be at least 1, got [0], [2], [1]}}
  %y = graph.reduce_window max %x window [0] stride [2] low [0] high [0] dilation [1] : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_window_c3_padding(%x: tensor<8xf32>) {
  // expected-error@+1 {{'graph.reduce_window' op padded sizes must not be negative, got [-1]}}
  %y = graph.reduce_window max %x window [2] stride [2] low [-9] high [0] dilation [1] : tensor<8xf32> -> tensor<0xf32>
  return
}

// -----

func.func @window_pick_c1_kind(%x: tensor<8xf32>) {
  // expected-error@+1 {{'graph.window_pick' op kind must be one of max, min, got add}}
  %y = graph.window_pick add %x, %x window [2] stride [2] low [0] high [0] dilation [1] : (tensor<8xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @window_pick_c2_shapes(%x: tensor<8xf32>, %t: tensor<7xf32>) {
  // expected-error@+1 {{'graph.window_pick' op operand shapes must be equal, x is [8], t is [7]}}
  %y = graph.window_pick max %x, %t window [2] stride [2] low [0] high [0] dilation [1] : (tensor<8xf32>, tensor<7xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @window_put_c1_types(%x: tensor<8xi32>, %t: tensor<4xi32>) {
  // expected-error@+1 {{'graph.window_put' op operand element types must be f32 or f64, got i32, i32}}
  %y = graph.window_put max %x, %t window [2] stride [2] low [0] high [0] dilation [1] : (tensor<8xi32>, tensor<4xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @window_put_c2_windows(%x: tensor<8xf32>, %t: tensor<5xf32>) {
  // expected-error@+1 {{'graph.window_put' op t needs an element for each window, [4], got [5]}}
  %y = graph.window_put max %x, %t window [2] stride [2] low [0] high [0] dilation [1] : (tensor<8xf32>, tensor<5xf32>) -> tensor<8xf32>
  return
}
