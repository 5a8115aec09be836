// RUN: lamina-opt %s --target='x86-64-v4{features=+avx512vnni}' -p graph-integer-products --split-input-file | filecheck %s
// RUN: lamina-opt %s --target=x86-64-v4 -p graph-integer-products --split-input-file | filecheck %s --check-prefix=GENERAL
// RUN: lamina-opt %s --target='x86-64-v4{features=+avx512vnni}' --compile-to=asm --split-input-file | filecheck %s --check-prefix=ASM

/// A convolution of quantized numbers is one of words; its image has its zero point around it.
// CHECK-LABEL: func.func @conv
//  CHECK-SAME:   (%[[X:.+]]: tensor<1x16x12x12xui8>, %[[W:.+]]: tensor<32x16x3x3xi8>, %[[S:.+]]: tensor<32xf32>)
//       CHECK:   %[[Z:.+]] = graph.const dense<7> : tensor<ui8>
//       CHECK:   %[[P:.+]] = graph.pad %[[X]], %[[Z]] low [0, 0, 1, 1] high [0, 0, 1, 1]
//       CHECK:   %[[A:.+]] = graph.pack_words %[[P]] dim 1 : tensor<1x16x14x14xui8> -> tensor<1x4x14x14xi32>
//       CHECK:   %[[B:.+]] = graph.pack_words %[[W]] dim 1 : tensor<32x16x3x3xi8> -> tensor<32x4x3x3xi32>
//       CHECK:   %[[D:.+]] = graph.conv_words %[[A]], %[[B]] stride [1, 1] low [0, 0] high [0, 0] groups 1 of u8i8
//       CHECK:   %[[R:.+]] = graph.sub %[[D]], %{{.*}} : tensor<1x32x12x12xi32>
//       CHECK:   %[[F:.+]] = graph.convert %[[R]] : tensor<1x32x12x12xi32> -> tensor<1x32x12x12xf32>
//       CHECK:   %[[Y:.+]] = graph.mul %[[F]], %{{.*}}
//       CHECK:   return %[[Y]]
/// A target without the instruction keeps it.
// GENERAL-LABEL: func.func @conv
//       GENERAL:   graph.conv %
//   GENERAL-NOT:   graph.pack_words
// ASM: vpdpbusd {{.*}}zmm
func.func @conv(%x: tensor<1x16x12x12xui8>, %w: tensor<32x16x3x3xi8>, %s: tensor<32xf32>) -> tensor<1x32x12x12xf32> {
  %z = graph.const dense<7> : tensor<i32>
  %0 = graph.convert %x : tensor<1x16x12x12xui8> -> tensor<1x16x12x12xi32>
  %1 = graph.broadcast %z to [] : tensor<i32> -> tensor<1x16x12x12xi32>
  %2 = graph.sub %0, %1 : tensor<1x16x12x12xi32>
  %3 = graph.convert %2 : tensor<1x16x12x12xi32> -> tensor<1x16x12x12xf32>
  %c = graph.const dense<0.5> : tensor<f32>
  %4 = graph.broadcast %c to [] : tensor<f32> -> tensor<1x16x12x12xf32>
  %5 = graph.mul %3, %4 : tensor<1x16x12x12xf32>
  %6 = graph.convert %w : tensor<32x16x3x3xi8> -> tensor<32x16x3x3xi32>
  %7 = graph.convert %6 : tensor<32x16x3x3xi32> -> tensor<32x16x3x3xf32>
  %8 = graph.broadcast %s to [0] : tensor<32xf32> -> tensor<32x16x3x3xf32>
  %9 = graph.mul %7, %8 : tensor<32x16x3x3xf32>
  %y = graph.conv %5, %9 low [1, 1] high [1, 1]
    : (tensor<1x16x12x12xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x12x12xf32>
  return %y : tensor<1x32x12x12xf32>
}

// -----

/// A product becomes one of integers, which `graph-pack-dots` packs; a scale for each column leaves the sum.
// CHECK-LABEL: func.func @dot
//       CHECK:   %[[D:.+]] = graph.dot %{{.*}}, %{{.*}} contract [1] with [0] : (tensor<64x256xi32>, tensor<256x32xi32>) -> tensor<64x32xi32>
//       CHECK:   %[[S:.+]] = graph.broadcast %{{.*}} to [1] : tensor<32xf32> -> tensor<64x32xf32>
//       CHECK:   %[[F:.+]] = graph.convert %[[D]] : tensor<64x32xi32> -> tensor<64x32xf32>
//       CHECK:   graph.mul %[[F]], %[[S]]
func.func @dot(%x: tensor<64x256xi8>, %w: tensor<256x32xi8>, %s: tensor<32xf32>) -> tensor<64x32xf32> {
  %0 = graph.convert %x : tensor<64x256xi8> -> tensor<64x256xf32>
  %1 = graph.convert %w : tensor<256x32xi8> -> tensor<256x32xf32>
  %2 = graph.broadcast %s to [1] : tensor<32xf32> -> tensor<256x32xf32>
  %3 = graph.mul %1, %2 : tensor<256x32xf32>
  %y = graph.dot %0, %3 contract [1] with [0] : (tensor<64x256xf32>, tensor<256x32xf32>) -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}

// -----

/// Scales along the sum, a zero point for each filter, sums that could overflow: floats as they are.
// CHECK-LABEL: func.func @no_integers
// CHECK-COUNT-2: graph.dot {{.*}} -> tensor<64x32xf32>
func.func @no_integers(%x: tensor<64x256xi8>, %w: tensor<256x32xi8>, %s: tensor<256xf32>,
                  %p: tensor<64x66000xi8>, %q: tensor<66000x32xui8>) -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  %0 = graph.convert %x : tensor<64x256xi8> -> tensor<64x256xf32>
  %1 = graph.convert %w : tensor<256x32xi8> -> tensor<256x32xf32>
  %2 = graph.broadcast %s to [0] : tensor<256xf32> -> tensor<256x32xf32>
  %3 = graph.mul %1, %2 : tensor<256x32xf32>
  %y = graph.dot %0, %3 contract [1] with [0] : (tensor<64x256xf32>, tensor<256x32xf32>) -> tensor<64x32xf32>
  %4 = graph.convert %p : tensor<64x66000xi8> -> tensor<64x66000xf32>
  %5 = graph.convert %q : tensor<66000x32xui8> -> tensor<66000x32xf32>
  %z = graph.dot %4, %5 contract [1] with [0] : (tensor<64x66000xf32>, tensor<66000x32xf32>) -> tensor<64x32xf32>
  return %y, %z : tensor<64x32xf32>, tensor<64x32xf32>
}
