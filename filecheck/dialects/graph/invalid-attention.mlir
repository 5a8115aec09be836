// RUN: lamina-opt %s --verify-diagnostics --split-input-file

/// One case for every constraint of graph.attention.

func.func @attention_c1_operands(%q: tensor<2x5x4xf32>, %k: tensor<2x7x4xf32>) {
  // expected-error@+1 {{'graph.attention' op takes q, k, v and perhaps a bias, got 2 operands}}
  %r = graph.attention %q, %k mask none scale 1.0 : f64
    : (tensor<2x5x4xf32>, tensor<2x7x4xf32>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @attention_c1_element_types(%q: tensor<2x5x4xf32>, %k: tensor<2x7x4xf64>, %v: tensor<2x7x3xf32>) {
  // expected-error@+1 {{'graph.attention' op q, k and v must all be f32 or all f64, got f32, f64, f32}}
  %r = graph.attention %q, %k, %v mask none scale 1.0 : f64
    : (tensor<2x5x4xf32>, tensor<2x7x4xf64>, tensor<2x7x3xf32>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @attention_c1_bias(%q: tensor<2x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x3xf32>, %b: tensor<2x5x7xf64>) {
  // expected-error@+1 {{'graph.attention' op the bias must be f32 or i1, got f64}}
  %r = graph.attention %q, %k, %v, %b mask none scale 1.0 : f64
    : (tensor<2x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x3xf32>, tensor<2x5x7xf64>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @attention_c2_rank(%q: tensor<5x4xf32>, %k: tensor<7x4xf32>, %v: tensor<7x3xf32>) {
  // expected-error@+1 {{'graph.attention' op operands must have one rank, 3 or more, got [5,4], [7,4], [7,3]}}
  %r = graph.attention %q, %k, %v mask none scale 1.0 : f64
    : (tensor<5x4xf32>, tensor<7x4xf32>, tensor<7x3xf32>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @attention_c3_batch(%q: tensor<2x1x5x4xf32>, %k: tensor<3x1x7x4xf32>, %v: tensor<2x1x7x3xf32>) {
  // expected-error@+1 {{'graph.attention' op batch sizes must agree, got [2,1,5,4], [3,1,7,4] and [2,1,7,3]}}
  %r = graph.attention %q, %k, %v mask none scale 1.0 : f64
    : (tensor<2x1x5x4xf32>, tensor<3x1x7x4xf32>, tensor<2x1x7x3xf32>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @attention_c4_heads(%q: tensor<4x5x4xf32>, %k: tensor<3x7x4xf32>, %v: tensor<3x7x3xf32>) {
  // expected-error@+1 {{'graph.attention' op q must have a multiple of the heads of k and v, got 4 of 3 and 3}}
  %r = graph.attention %q, %k, %v mask none scale 1.0 : f64
    : (tensor<4x5x4xf32>, tensor<3x7x4xf32>, tensor<3x7x3xf32>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @attention_c5_sizes(%q: tensor<2x5x4xf32>, %k: tensor<2x7x3xf32>, %v: tensor<2x7x3xf32>) {
  // expected-error@+1 {{'graph.attention' op q and k must have one dim, k and v one number of keys, got [2,5,4], [2,7,3] and [2,7,3]}}
  %r = graph.attention %q, %k, %v mask none scale 1.0 : f64
    : (tensor<2x5x4xf32>, tensor<2x7x3xf32>, tensor<2x7x3xf32>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @attention_c6_bias(%q: tensor<2x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x3xf32>, %b: tensor<2x5x5xi1>) {
  // expected-error@+1 {{'graph.attention' op the bias must fit the scores [2,5,7], got [2,5,5]}}
  %r = graph.attention %q, %k, %v, %b mask none scale 1.0 : f64
    : (tensor<2x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x3xf32>, tensor<2x5x5xi1>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @attention_c7_mask(%q: tensor<2x5x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x3xf32>) {
  // expected-error@+1 {{'graph.attention' op mask must be none or causal, got banded}}
  %r = graph.attention %q, %k, %v mask banded scale 1.0 : f64
    : (tensor<2x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x3xf32>) -> tensor<2x5x3xf32>
  return
}
