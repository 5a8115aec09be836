// RUN: lamina-opt %s --verify-diagnostics --split-input-file

/// One case for every constraint of the ops of complex numbers and of transforms; the name says which.

func.func @cmp_c4_order(%x: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{'graph.cmp' op predicate of complex numbers must be eq or ne, got lt}}
  %r = "graph.cmp"(%x, %x) {predicate = "lt"} : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xi1>
  return
}

// -----

func.func @complex_c1_elements(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error@+1 {{'graph.complex' op operand element types must be equal, the real part is f32, the imaginary part is f64}}
  %r = "graph.complex"(%x, %y) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @complex_c2_shapes(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{'graph.complex' op operand shapes must be equal, the real part is [4], the imaginary part is [3]}}
  %r = "graph.complex"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @complex_c3_integers(%x: tensor<4xi32>) {
  // expected-error@+1 {{'graph.complex' op operand element type must be f32 or f64, got i32}}
  %r = "graph.complex"(%x, %x) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @real_c1_real(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.real' op operand element type must be complex, got f32}}
  %r = "graph.real"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @imag_c1_real(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.imag' op operand element type must be complex, got f32}}
  %r = "graph.imag"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @magnitude_c1_real(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.magnitude' op operand element type must be complex, got f32}}
  %r = "graph.magnitude"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @as_pairs_c1_real(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.as_pairs' op operand element type must be complex, got f32}}
  %r = "graph.as_pairs"(%x) : (tensor<4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @from_pairs_c1_integers(%x: tensor<4x2xi32>) {
  // expected-error@+1 {{'graph.from_pairs' op operand element type must be f32 or f64, got i32}}
  %r = "graph.from_pairs"(%x) : (tensor<4x2xi32>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @from_pairs_c2_threes(%x: tensor<4x3xf32>) {
  // expected-error@+1 {{'graph.from_pairs' op the last dim of the operand must have size 2, got [4,3]}}
  %r = "graph.from_pairs"(%x) : (tensor<4x3xf32>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @interleave_c1_elements(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error@+1 {{'graph.interleave' op operand element types must be equal, x is f32, y is f64}}
  %r = "graph.interleave"(%x, %y) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @interleave_c2_shapes(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{'graph.interleave' op operand shapes must be equal, x is [4], y is [3]}}
  %r = "graph.interleave"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @fft_c1_real(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.fft' op operand element type must be complex, got f32}}
  %r = "graph.fft"(%x) {dim = 0 : i64, direction = "forward"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @fft_c2_dim(%x: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{'graph.fft' op dim must be within the rank, got 1 for [4]}}
  %r = "graph.fft"(%x) {dim = 1 : i64, direction = "forward"} : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @fft_c2_nothing(%x: tensor<2x0xcomplex<f32>>) {
  // expected-error@+1 {{'graph.fft' op dim 1 of [2,0] has no elements to transform}}
  %r = "graph.fft"(%x) {dim = 1 : i64, direction = "forward"} : (tensor<2x0xcomplex<f32>>) -> tensor<2x0xcomplex<f32>>
  return
}

// -----

func.func @fft_c3_direction(%x: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{'graph.fft' op direction must be forward or inverse, got up}}
  %r = "graph.fft"(%x) {dim = 0 : i64, direction = "up"} : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @butterflies_c1_elements(%x: tensor<1x4x1xf32>, %w: tensor<2x1xf64>) {
  // expected-error@+1 {{'graph.butterflies' op operand element types must be equal, re is f32, roots is f64}}
  %r = "graph.butterflies"(%x, %x, %w) {radices = array<i64: 4>, direction = "forward", form = "parts", twist = 0 : i64} : (tensor<1x4x1xf32>, tensor<1x4x1xf32>, tensor<2x1xf64>) -> tensor<1x4x1x2xf32>
  return
}

// -----

func.func @butterflies_c2_length(%x: tensor<1x6x1xf32>, %w: tensor<2x1xf32>) {
  // expected-error@+1 {{'graph.butterflies' op needs three dims, the middle one of size 4, got [1,6,1]}}
  %r = "graph.butterflies"(%x, %x, %w) {radices = array<i64: 4>, direction = "forward", form = "parts", twist = 0 : i64} : (tensor<1x6x1xf32>, tensor<1x6x1xf32>, tensor<2x1xf32>) -> tensor<1x6x1x2xf32>
  return
}

// -----

func.func @butterflies_c2_radix(%x: tensor<1x64x1xf32>, %w: tensor<2x1xf32>) {
  // expected-error@+1 {{'graph.butterflies' op radices must be from 2 to 43, got [64]}}
  %r = "graph.butterflies"(%x, %x, %w) {radices = array<i64: 64>, direction = "forward", form = "parts", twist = 0 : i64} : (tensor<1x64x1xf32>, tensor<1x64x1xf32>, tensor<2x1xf32>) -> tensor<1x64x1x2xf32>
  return
}

// -----

func.func @butterflies_c3_roots(%x: tensor<1x8x1xf32>, %w: tensor<2x1xf32>) {
  // expected-error@+1 {{'graph.butterflies' op needs roots [2,6], got [2,1]}}
  %r = "graph.butterflies"(%x, %x, %w) {radices = array<i64: 4, 2>, direction = "forward", form = "parts", twist = 0 : i64} : (tensor<1x8x1xf32>, tensor<1x8x1xf32>, tensor<2x1xf32>) -> tensor<1x8x1x2xf32>
  return
}

// -----

func.func @butterflies_c4_direction(%x: tensor<1x4x1xf32>, %w: tensor<2x1xf32>) {
  // expected-error@+1 {{'graph.butterflies' op direction must be forward or inverse, got up}}
  %r = "graph.butterflies"(%x, %x, %w) {radices = array<i64: 4>, direction = "up", form = "parts", twist = 0 : i64} : (tensor<1x4x1xf32>, tensor<1x4x1xf32>, tensor<2x1xf32>) -> tensor<1x4x1x2xf32>
  return
}

// -----

func.func @butterflies_c4_form(%x: tensor<1x4x1xf32>, %w: tensor<2x1xf32>) {
  // expected-error@+1 {{'graph.butterflies' op form must be parts or pairs, got planes}}
  %r = "graph.butterflies"(%x, %x, %w) {radices = array<i64: 4>, direction = "forward", form = "planes", twist = 0 : i64} : (tensor<1x4x1xf32>, tensor<1x4x1xf32>, tensor<2x1xf32>) -> tensor<1x4x1x2xf32>
  return
}

// -----

func.func @butterflies_c5_twist(%x: tensor<1x4x6xf32>, %w: tensor<2x1xf32>) {
  // expected-error@+1 {{'graph.butterflies' op the twist must divide 6 columns, got 4}}
  %r = "graph.butterflies"(%x, %x, %w) {radices = array<i64: 4>, direction = "forward", form = "parts", twist = 4 : i64} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>, tensor<2x1xf32>) -> tensor<1x4x6x2xf32>
  return
}

// -----

func.func @max_takes_no_complex_numbers(%x: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{'graph.max' op element type must be one of}}
  %r = "graph.max"(%x, %x) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}
