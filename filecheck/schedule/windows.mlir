// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=loop | filecheck %s --check-prefix=LOOP
// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=loop | lamina-opt - -p 'loop-auto{verbose=true}' 2>&1 >/dev/null | filecheck %s --check-prefix=STEPS
// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=scheduled | filecheck %s

/// The loops read like the definition: the operand with its padding, then the maximum of each window.
// LOOP-LABEL: loop.kernel @reduce_window(
//       LOOP: %padded = loop.alloc scratch : memref<1x4x33x33xf32>
//       LOOP: loop.if
//       LOOP: loop.store %{{.*}}, %padded[0, %i, %j, %k]
//       LOOP: loop.for parallel %l = 0 to 4 {
//       LOOP: loop.for parallel %m = 0 to 16 {
//       LOOP: loop.for parallel %n = 0 to 16 {
//       LOOP: loop.for reduce<max> %o = 0 to 3
//       LOOP: loop.for reduce<max> %p = 0 to 3
//       LOOP: loop.load %padded[0, %l, %m * 2 + %o, %n * 2 + %p]

/// One channel at a time, rows for even and odd columns, padding apart, nine elements in one chain.
//      STEPS: loop-compute-at{buffer=padded at=l}
// STEPS-NEXT: loop-deinterleave{loop=k ways=2}
// STEPS-NEXT: loop-deinterleave{loop=p ways=2}
// STEPS-NEXT: loop-split-dim{buffer=padded dim=3 factor=2}
// STEPS-NEXT: loop-set-layout{buffer=padded order=4,0,1,2,3}
// STEPS-NEXT: loop-partition{loop=j}
// STEPS-NEXT: loop-partition{loop=k}
// STEPS-NEXT: loop-partition{loop=k2}
// STEPS-NEXT: loop-ungroup{loop=o}
// STEPS-NEXT: loop-unroll{loop=o}
// STEPS-NEXT: loop-unroll{loop=p}
// STEPS-NEXT: loop-unroll{loop=p2}
// STEPS-NEXT: loop-vectorize{loop=n lanes=16}

// CHECK-LABEL: loop.kernel @reduce_window(
//       CHECK: loop.for parallel %l = 0 to 4 {
//       CHECK: %padded = loop.alloc scratch : memref<2x1x1x33x17xf32>
//   CHECK-NOT: loop.if
//       CHECK: loop.load %x[0, %i, %j - 1, %k{{.*}} * 2 - 1] step 2
//       CHECK: loop.load %padded[0, 0, 0, %m * 2 + %o, %n + %{{.*}}] : memref<2x1x1x33x17xf32>, vector<16xf32>

/// Windows side by side, without padding, read the operand in place.
// CHECK-LABEL: loop.kernel @reduce_window_1(
//   CHECK-NOT: loop.alloc
//       CHECK: loop.load %x[{{.*}} step 2
func.func @main(%x : tensor<1x4x32x32xf32>) -> (tensor<1x4x16x16xf32>, tensor<1x4x16x16xf32>) {
  %y = graph.reduce_window max %x window [1, 1, 3, 3] stride [1, 1, 2, 2] low [0, 0, 1, 1] high [0, 0, 0, 0] dilation [1, 1, 1, 1]
    : tensor<1x4x32x32xf32> -> tensor<1x4x16x16xf32>
  %z = graph.reduce_window max %x window [1, 1, 2, 2] stride [1, 1, 2, 2] low [0, 0, 0, 0] high [0, 0, 0, 0] dilation [1, 1, 1, 1]
    : tensor<1x4x32x32xf32> -> tensor<1x4x16x16xf32>
  func.return %y, %z : tensor<1x4x16x16xf32>, tensor<1x4x16x16xf32>
}
