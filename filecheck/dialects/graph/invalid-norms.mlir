// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @layer_norm_c1_element(%x: tensor<2x3xi32>) {
  // expected-error@+1 {{'graph.layer_norm' op}}
  %r = graph.layer_norm %x over [1] epsilon 1.0e-05 : f64 : tensor<2x3xi32>
  return
}

// -----

func.func @layer_norm_c2_dims(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.layer_norm' op normalized dim 2 is out of range for rank 2}}
  %r = graph.layer_norm %x over [2] epsilon 1.0e-05 : f64 : tensor<2x3xf32>
  return
}

// -----

func.func @rms_norm_c1_element(%x: tensor<2x3xi1>) {
  // expected-error@+1 {{'graph.rms_norm' op}}
  %r = graph.rms_norm %x over [1] epsilon 1.0e-05 : f64 : tensor<2x3xi1>
  return
}

// -----

func.func @rms_norm_c2_dims(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.rms_norm' op normalized dims must be distinct, got [1, 1]}}
  %r = graph.rms_norm %x over [1, 1] epsilon 1.0e-05 : f64 : tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_c1_element(%x: tensor<2x3xf32>, %m: tensor<3xf32>, %w: tensor<3xf64>) {
  // expected-error@+1 {{'graph.batch_norm' op operand element types must be equal, x is f32, weight is f64}}
  %r = graph.batch_norm %x, %m, %m, %w, %m along 1 epsilon 0.5 : f64
    : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf64>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_c1_integers(%x: tensor<2x3xi32>, %m: tensor<3xi32>) {
  // expected-error@+1 {{'graph.batch_norm' op element type must be f32 or f64, got i32}}
  %r = graph.batch_norm %x, %m, %m, %m, %m along 1 epsilon 0.5 : f64
    : (tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  return
}

// -----

func.func @batch_norm_c2_dim(%x: tensor<2x3xf32>, %m: tensor<3xf32>) {
  // expected-error@+1 {{'graph.batch_norm' op dim must be within the rank, got 2 for [2,3]}}
  %r = graph.batch_norm %x, %m, %m, %m, %m along 2 epsilon 0.5 : f64
    : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_c3_channels(%x: tensor<2x3xf32>, %m: tensor<3xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'graph.batch_norm' op needs a number for each channel, x is [2,3], bias [2]}}
  %r = graph.batch_norm %x, %m, %m, %m, %b along 1 epsilon 0.5 : f64
    : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}
