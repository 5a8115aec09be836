// RUN: lamina-opt %s > %t && lamina-opt %t | diff %t - && lamina-opt %t --print-op-generic | lamina-opt | diff %t -
// RUN: lamina-opt %s | filecheck %s

/// Types that are only stored have names, and are moved and converted.
// CHECK-LABEL: @stored
//  CHECK-SAME:   tensor<4xf8E4M3FN>, {{.*}}tensor<4xf8E5M2>, {{.*}}tensor<4xi4>, {{.*}}tensor<4xui4>
//       CHECK:   graph.convert %{{.*}} : tensor<4xf8E4M3FN> -> tensor<4xf32>
//       CHECK:   graph.convert %{{.*}} : tensor<4xi4> -> tensor<4xi8>
//       CHECK:   graph.reshape %{{.*}} : tensor<4xui4> -> tensor<2x2xui4>
func.func @stored(%a: tensor<4xf8E4M3FN>, %b: tensor<4xf8E5M2>, %c: tensor<4xi4>, %d: tensor<4xui4>) -> tensor<2x2xui4> {
  %0 = graph.convert %a : tensor<4xf8E4M3FN> -> tensor<4xf32>
  %1 = graph.convert %c : tensor<4xi4> -> tensor<4xi8>
  %2 = graph.reshape %d : tensor<4xui4> -> tensor<2x2xui4>
  return %2 : tensor<2x2xui4>
}

/// Four bytes or two halves are a word; products of words have a kind.
// CHECK-LABEL: @words
//       CHECK:   graph.pack_words %{{.*}} dim 1 : tensor<2x8xui8> -> tensor<2x2xi32>
//       CHECK:   graph.pack_words %{{.*}} dim 0 : tensor<8x3xi8> -> tensor<2x3xi32>
//       CHECK:   graph.dot_words %{{.*}}, %{{.*}} contract [1] with [0] of u8i8 : (tensor<2x2xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
func.func @words(%x: tensor<2x8xui8>, %w: tensor<8x3xi8>) -> tensor<2x3xi32> {
  %0 = graph.pack_words %x dim 1 : tensor<2x8xui8> -> tensor<2x2xi32>
  %1 = graph.pack_words %w dim 0 : tensor<8x3xi8> -> tensor<2x3xi32>
  %2 = graph.dot_words %0, %1 contract [1] with [0] of u8i8 : (tensor<2x2xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  return %2 : tensor<2x3xi32>
}

/// Windows over words: the features are words.
// CHECK-LABEL: @windows
//       CHECK:   graph.conv_words %{{.*}}, %{{.*}} stride [1, 1] low [1, 1] high [1, 1] groups 1 of u8i8 : (tensor<1x2x8x8xi32>, tensor<4x2x3x3xi32>) -> tensor<1x4x8x8xi32>
func.func @windows(%x: tensor<1x2x8x8xi32>, %w: tensor<4x2x3x3xi32>) -> tensor<1x4x8x8xi32> {
  %0 = graph.conv_words %x, %w low [1, 1] high [1, 1] of u8i8 : (tensor<1x2x8x8xi32>, tensor<4x2x3x3xi32>) -> tensor<1x4x8x8xi32>
  return %0 : tensor<1x4x8x8xi32>
}

/// One step of such a sum, on numbers and on vectors.
// CHECK-LABEL: @scalars
//       CHECK:   scalar.dot_words "u8i8" %{{.*}}, %{{.*}} : i32 -> i32
//       CHECK:   scalar.dot_words "bf16" %{{.*}}, %{{.*}} : vector<4xi32> -> vector<4xf32>
func.func @scalars(%x: i32, %v: vector<4xi32>) -> i32 {
  %0 = scalar.dot_words "u8i8" %x, %x : i32 -> i32
  %1 = scalar.dot_words "bf16" %v, %v : vector<4xi32> -> vector<4xf32>
  return %0 : i32
}
