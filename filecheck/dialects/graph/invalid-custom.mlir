// RUN: lamina-opt %s --verify-diagnostics --split-input-file

/// One case for every constraint of graph.custom_derivative and graph.transpose_of.

func.func private @f(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @custom_derivative_c1_no_function(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.custom_derivative' op names no function of the module: @missing}}
  %y = graph.custom_derivative @missing consts(%c) args(%x) jvp @f : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @f(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @custom_derivative_c1_no_rule(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.custom_derivative' op names no function of the module: @missing}}
  %y = graph.custom_derivative @f consts(%c) args(%x) jvp @missing : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @f(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @rule(%c: tensor<f32>, %x: tensor<4xf32>, %t: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %t : tensor<4xf32>, tensor<4xf32>
}
func.func @custom_derivative_c1_arguments(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.custom_derivative' op needs @f to take (tensor<4xf32>), got (tensor<f32>, tensor<4xf32>)}}
  %y = graph.custom_derivative @f consts() args(%x) jvp @rule : (tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @f(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @rule(%c: tensor<f32>, %x: tensor<4xf32>, %t: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %t : tensor<4xf32>, tensor<4xf32>
}
func.func @custom_derivative_c2_results(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf64> {
  // expected-error@+1 {{'graph.custom_derivative' op results must be (tensor<4xf32>), got (tensor<4xf64>)}}
  %y = graph.custom_derivative @f consts(%c) args(%x) jvp @rule : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf64>)
  return %y : tensor<4xf64>
}

// -----

func.func private @f(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @custom_derivative_c3_jvp_takes(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.custom_derivative' op needs @f to take (tensor<f32>, tensor<4xf32>, tensor<4xf32>), got (tensor<f32>, tensor<4xf32>)}}
  %y = graph.custom_derivative @f consts(%c) args(%x) jvp @f : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @f(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @rule(%c: tensor<f32>, %x: tensor<4xf32>, %t: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @custom_derivative_c3_jvp_returns(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.custom_derivative' op needs @rule to return (tensor<4xf32>, tensor<4xf32>), got (tensor<4xf32>)}}
  %y = graph.custom_derivative @f consts(%c) args(%x) jvp @rule : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @f(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @rule(%c: tensor<f32>, %x: tensor<4xf32>, %t: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %t : tensor<4xf32>, tensor<4xf32>
}
func.func private @reverse(%c: tensor<f32>, %k: tensor<f64>, %ct: tensor<4xf32>) -> tensor<4xf32> {
  return %ct : tensor<4xf32>
}
func.func @custom_derivative_c3_forward_takes(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.custom_derivative' op needs @rule to take (tensor<f32>, tensor<4xf32>), got (tensor<f32>, tensor<4xf32>, tensor<4xf32>)}}
  %y = graph.custom_derivative @f consts(%c) args(%x) vjp @rule, @reverse : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @f(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @forward(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<f64> {
  %k = graph.const dense<2.0> : tensor<f64>
  return %k : tensor<f64>
}
func.func private @reverse(%c: tensor<f32>, %k: tensor<f64>, %ct: tensor<4xf32>) -> tensor<4xf32> {
  return %ct : tensor<4xf32>
}
func.func @custom_derivative_c3_forward_returns(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.custom_derivative' op needs @forward to return first (tensor<4xf32>), got (tensor<f64>)}}
  %y = graph.custom_derivative @f consts(%c) args(%x) vjp @forward, @reverse : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @f(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @forward(%c: tensor<f32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f64>) {
  %k = graph.const dense<2.0> : tensor<f64>
  return %x, %k : tensor<4xf32>, tensor<f64>
}
func.func private @rule(%c: tensor<f32>, %x: tensor<4xf32>, %t: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %t : tensor<4xf32>, tensor<4xf32>
}
func.func @custom_derivative_c3_reverse_takes(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.custom_derivative' op needs @rule to take (tensor<f32>, tensor<f64>, tensor<4xf32>), got (tensor<f32>, tensor<4xf32>, tensor<4xf32>)}}
  %y = graph.custom_derivative @f consts(%c) args(%x) vjp @forward, @rule : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @f(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @forward(%c: tensor<f32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f64>) {
  %k = graph.const dense<2.0> : tensor<f64>
  return %x, %k : tensor<4xf32>, tensor<f64>
}
func.func private @reverse(%c: tensor<f32>, %k: tensor<f64>, %ct: tensor<4xf32>) -> tensor<f64> {
  return %k : tensor<f64>
}
func.func @custom_derivative_c3_reverse_returns(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.custom_derivative' op needs @reverse to return (tensor<4xf32>), got (tensor<f64>)}}
  %y = graph.custom_derivative @f consts(%c) args(%x) vjp @forward, @reverse : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func @transpose_of_c1_no_function(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.transpose_of' op names no function of the module: @missing}}
  %y = graph.transpose_of @missing fixed(%c) args(%x) : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @reverse(%c: tensor<f32>, %k: tensor<f64>, %ct: tensor<4xf32>) -> tensor<4xf32> {
  return %ct : tensor<4xf32>
}
func.func @transpose_of_c1_takes(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.transpose_of' op needs @reverse to take (tensor<f32>, tensor<4xf32>), got (tensor<f32>, tensor<f64>, tensor<4xf32>)}}
  %y = graph.transpose_of @reverse fixed(%c) args(%x) : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @reverse(%c: tensor<f32>, %k: tensor<f64>, %ct: tensor<4xf32>) -> tensor<f64> {
  return %k : tensor<f64>
}
func.func @transpose_of_c1_returns(%c: tensor<f32>, %k: tensor<f64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.transpose_of' op needs @reverse to return (tensor<4xf32>), got (tensor<f64>)}}
  %y = graph.transpose_of @reverse fixed(%c, %k) args(%x) : (tensor<f32>, tensor<f64>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}
