// RUN: lamina-opt %s --target='x86-64-v4{features=+avx512vnni,+avx512bf16}' -p graph-pack-dots --split-input-file | filecheck %s
// RUN: lamina-opt %s --target=x86-64-v4 -p graph-pack-dots --split-input-file | filecheck %s --check-prefix=GENERAL
// RUN: lamina-opt %s --target='x86-64-v4{features=+avx512vnni,+avx512bf16}' --compile-to=asm --split-input-file | filecheck %s --check-prefix=ASM
// RUN: lamina-opt %s --target='x86-64-v3{features=+avxvnni}' --compile-to=asm --split-input-file | filecheck %s --check-prefix=VEX

/// Signed bytes: the left ones are shifted by 128, and 128 times the sums of the columns are subtracted.
// CHECK-LABEL: func.func @signed
//  CHECK-SAME:   (%[[X:.+]]: tensor<64x256xi8>, %[[W:.+]]: tensor<256x32xi8>)
//       CHECK:   %[[S:.+]] = graph.xor %[[X]], %{{.*}} : tensor<64x256xi8>
//       CHECK:   %[[U:.+]] = graph.bitcast %[[S]] : tensor<64x256xi8> -> tensor<64x256xui8>
//       CHECK:   %[[A:.+]] = graph.pack_words %[[U]] dim 1 : tensor<64x256xui8> -> tensor<64x64xi32>
//       CHECK:   %[[B:.+]] = graph.pack_words %[[W]] dim 0 : tensor<256x32xi8> -> tensor<64x32xi32>
//       CHECK:   %[[D:.+]] = graph.dot_words %[[A]], %[[B]] contract [1] with [0] of u8i8
//       CHECK:   %[[R:.+]] = graph.reduce add %{{.*}} over [0] : tensor<256x32xi32> -> tensor<32xi32>
//       CHECK:   %[[Y:.+]] = graph.sub %[[D]], %{{.*}} : tensor<64x32xi32>
//       CHECK:   return %[[Y]]
/// A target without the instruction keeps the product.
// GENERAL-LABEL: func.func @signed
//       GENERAL:   graph.dot %
//   GENERAL-NOT:   graph.pack_words
// ASM: vpdpbusd {{.*}}zmm
// VEX: {vex} vpdpbusd {{.*}}ymm
func.func @signed(%x: tensor<64x256xi8>, %w: tensor<256x32xi8>) -> tensor<64x32xi32> {
  %a = graph.convert %x : tensor<64x256xi8> -> tensor<64x256xi32>
  %b = graph.convert %w : tensor<256x32xi8> -> tensor<256x32xi32>
  %y = graph.dot %a, %b contract [1] with [0] : (tensor<64x256xi32>, tensor<256x32xi32>) -> tensor<64x32xi32>
  return %y : tensor<64x32xi32>
}

// -----

/// Unsigned bytes on the right go first, and the result is transposed; sums of 130 terms are filled up with zeros.
// CHECK-LABEL: func.func @swapped
//  CHECK-SAME:   (%[[X:.+]]: tensor<64x130xi8>, %[[W:.+]]: tensor<130x32xui8>)
//   CHECK-NOT:   graph.xor
//       CHECK:   graph.pad %[[W]]
//       CHECK:   graph.pad %[[X]]
//       CHECK:   graph.dot_words %{{.*}}, %{{.*}} contract [0] with [1] of u8i8 : (tensor<33x32xi32>, tensor<64x33xi32>) -> tensor<32x64xi32>
//       CHECK:   graph.transpose %{{.*}} perm [1, 0]
func.func @swapped(%x: tensor<64x130xi8>, %w: tensor<130x32xui8>) -> tensor<64x32xi32> {
  %a = graph.convert %x : tensor<64x130xi8> -> tensor<64x130xi32>
  %b = graph.convert %w : tensor<130x32xui8> -> tensor<130x32xi32>
  %y = graph.dot %a, %b contract [1] with [0] : (tensor<64x130xi32>, tensor<130x32xi32>) -> tensor<64x32xi32>
  return %y : tensor<64x32xi32>
}

// -----

/// Products of bf16 numbers are summed in f32.
// CHECK-LABEL: func.func @halves
//       CHECK:   graph.dot_words %{{.*}}, %{{.*}} contract [1] with [0] of bf16 : (tensor<64x128xi32>, tensor<128x32xi32>) -> tensor<64x32xf32>
// ASM: vdpbf16ps {{.*}}zmm
func.func @halves(%x: tensor<64x256xbf16>, %w: tensor<256x32xbf16>) -> tensor<64x32xf32> {
  %a = graph.convert %x : tensor<64x256xbf16> -> tensor<64x256xf32>
  %b = graph.convert %w : tensor<256x32xbf16> -> tensor<256x32xf32>
  %y = graph.dot %a, %b contract [1] with [0] : (tensor<64x256xf32>, tensor<256x32xf32>) -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}

// -----

/// Few rows, an odd number of bf16 terms: products as they are.
// CHECK-LABEL: func.func @no_words
//   CHECK-NOT:   graph.dot_words
func.func @no_words(%x: tensor<4x256xi8>, %w: tensor<256x32xi8>, %p: tensor<64x255xbf16>, %q: tensor<255x32xbf16>)
    -> (tensor<4x32xi32>, tensor<64x32xf32>) {
  %a = graph.convert %x : tensor<4x256xi8> -> tensor<4x256xi32>
  %b = graph.convert %w : tensor<256x32xi8> -> tensor<256x32xi32>
  %0 = graph.dot %a, %b contract [1] with [0] : (tensor<4x256xi32>, tensor<256x32xi32>) -> tensor<4x32xi32>
  %e = graph.convert %p : tensor<64x255xbf16> -> tensor<64x255xf32>
  %f = graph.convert %q : tensor<255x32xbf16> -> tensor<255x32xf32>
  %2 = graph.dot %e, %f contract [1] with [0] : (tensor<64x255xf32>, tensor<255x32xf32>) -> tensor<64x32xf32>
  return %0, %2 : tensor<4x32xi32>, tensor<64x32xf32>
}

// -----

/// Both operands have a zero point, the right one is unsigned: its bytes are shifted, and so is its zero point.
// CHECK-LABEL: func.func @zero_points
//  CHECK-SAME:   (%[[X:.+]]: tensor<64x256xui8>, %[[W:.+]]: tensor<256x32xui8>, %[[P:.+]]: tensor<i32>, %[[Q:.+]]: tensor<i32>)
//       CHECK:   %[[S:.+]] = graph.const dense<-128> : tensor<i32>
//       CHECK:   graph.add %{{.*}}, %[[S]] : tensor<i32>
//       CHECK:   graph.pack_words %[[X]] dim 1
//       CHECK:   %[[D:.+]] = graph.dot_words
//       CHECK:   graph.reduce add %{{.*}} over [1] : tensor<64x256xi32> -> tensor<64xi32>
//       CHECK:   graph.const dense<256> : tensor<i32>
//       CHECK:   graph.reduce add %{{.*}} over [0] : tensor<256x32xi32> -> tensor<32xi32>
func.func @zero_points(%x: tensor<64x256xui8>, %w: tensor<256x32xui8>, %p: tensor<i32>, %q: tensor<i32>) -> tensor<64x32xi32> {
  %a = graph.convert %x : tensor<64x256xui8> -> tensor<64x256xi32>
  %b = graph.convert %w : tensor<256x32xui8> -> tensor<256x32xi32>
  %c = graph.broadcast %p to [] : tensor<i32> -> tensor<64x256xi32>
  %d = graph.broadcast %q to [] : tensor<i32> -> tensor<256x32xi32>
  %e = graph.sub %a, %c : tensor<64x256xi32>
  %f = graph.sub %b, %d : tensor<256x32xi32>
  %y = graph.dot %e, %f contract [1] with [0] : (tensor<64x256xi32>, tensor<256x32xi32>) -> tensor<64x32xi32>
  return %y : tensor<64x32xi32>
}
