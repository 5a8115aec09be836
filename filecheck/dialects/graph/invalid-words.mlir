// RUN: lamina-opt %s --verify-diagnostics --split-input-file

func.func @convert_c2_narrow(%x: tensor<4xf16>) {
  // expected-error@+1 {{'graph.convert' op converts f16 from and to f32 and f64, and from integers, got f16 to f8E5M2}}
  %r = graph.convert %x : tensor<4xf16> -> tensor<4xf8E5M2>
  return
}

// -----

func.func @convert_c2_nibble(%x: tensor<4xui4>) {
  // expected-error@+1 {{'graph.convert' op converts ui4 from and to ui8 only, got ui4 to i32}}
  %r = graph.convert %x : tensor<4xui4> -> tensor<4xi32>
  return
}

// -----

/// No arithmetic is done in them.
func.func @stored_add(%x: tensor<4xi4>) {
  // expected-error@+1 {{'graph.add' op element type must be one of}}
  %r = graph.add %x, %x : tensor<4xi4>
  return
}

// -----

func.func @pack_words_c1_element(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.pack_words' op element type must be one of i8, ui8, bf16, got f32}}
  %r = graph.pack_words %x dim 0 : tensor<4xf32> -> tensor<1xi32>
  return
}

// -----

func.func @pack_words_c2_dim(%x: tensor<4xi8>) {
  // expected-error@+1 {{'graph.pack_words' op dim must be one whose size is a multiple of 4, got dim 1 of [4]}}
  %r = graph.pack_words %x dim 1 : tensor<4xi8> -> tensor<1xi32>
  return
}

// -----

func.func @pack_words_c2_size(%x: tensor<3xbf16>) {
  // expected-error@+1 {{'graph.pack_words' op dim must be one whose size is a multiple of 2, got dim 0 of [3]}}
  %r = graph.pack_words %x dim 0 : tensor<3xbf16> -> tensor<1xi32>
  return
}

// -----

func.func @dot_words_c1_kind(%x: tensor<2x2xi32>) {
  // expected-error@+1 {{'graph.dot_words' op takes words of i32 of a kind of u8i8, bf16, got i32 and i32 of i4}}
  %r = graph.dot_words %x, %x contract [1] with [0] of i4 : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  return
}

// -----

func.func @dot_words_c1_words(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{'graph.dot_words' op takes words of i32 of a kind of u8i8, bf16, got f32 and f32 of bf16}}
  %r = graph.dot_words %x, %x contract [1] with [0] of bf16 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dot_words_scalar_c1(%x: i32) {
  // expected-error@+1 {{'scalar.dot_words' op kind must be one of u8i8, bf16, got i4}}
  %r = scalar.dot_words "i4" %x, %x : i32 -> i32
  return
}

// -----

func.func @dot_words_scalar_c2(%x: i32) {
  // expected-error@+1 {{'scalar.dot_words' op of bf16 sums words of i32 in f32, got i32 and i32}}
  %r = scalar.dot_words "bf16" %x, %x : i32 -> i32
  return
}

// -----

func.func @dot_words_scalar_c3(%x: vector<4xi32>) {
  // expected-error@+1 {{'scalar.dot_words' op operands and result must have as many lanes, got vector<4xi32> and vector<8xi32>}}
  %r = scalar.dot_words "u8i8" %x, %x : vector<4xi32> -> vector<8xi32>
  return
}

// -----

func.func @conv_words_c1(%x: tensor<1x2x8x8xi8>, %w: tensor<4x2x3x3xi8>) {
  // expected-error@+1 {{'graph.conv_words' op takes words of i32 of a kind of u8i8, bf16, got i8 and i8 of u8i8}}
  %0 = graph.conv_words %x, %w stride [1, 1] low [0, 0] high [0, 0] groups 1 of u8i8 : (tensor<1x2x8x8xi8>, tensor<4x2x3x3xi8>) -> tensor<1x4x6x6xi32>
  return
}
