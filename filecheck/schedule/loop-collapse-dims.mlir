// RUN: lamina-opt %s %validate -p 'loop-collapse-dims{kernel=tiles buffer=t dim=1 count=3}' | filecheck %s
// RUN: not lamina-opt %s -p 'loop-collapse-dims{kernel=tiles buffer=t dim=2 count=3}' 2>&1 | filecheck %s --check-prefix=DIM
// RUN: not lamina-opt %s -p 'loop-collapse-dims{kernel=tiles buffer=t dim=0 count=1}' 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: not lamina-opt %s -p 'loop-collapse-dims{kernel=tiles buffer=y dim=0}' 2>&1 | filecheck %s --check-prefix=ARGUMENT
// RUN: not lamina-opt %s -p 'loop-collapse-dims{kernel=no_vectors buffer=t dim=0}' 2>&1 | filecheck %s --check-prefix=VECTOR
// RUN: not lamina-opt %s -p 'loop-collapse-dims{kernel=no_sizes buffer=t dim=0}' 2>&1 | filecheck %s --check-prefix=SIZES

/// Three dims, one of which has one element.
// CHECK-LABEL: loop.kernel @tiles
// CHECK: %t = loop.alloc scratch : memref<2x20xf32>
// CHECK: loop.store %zero, %t[%p, %i * 5 + %j] : memref<2x20xf32>
// CHECK: loop.load %t[%q, %k + 6] : memref<2x20xf32>
// DIM: loop-collapse-dims{kernel=tiles buffer=t dim=2 count=3}: t has no 3 dims from dim 2 on: memref<2x1x4x5xf32>
// COUNT: loop-collapse-dims{kernel=tiles buffer=t dim=0 count=1}: count must be 2 or more, got 1
// ARGUMENT: loop-collapse-dims{kernel=tiles buffer=y dim=0}: y is an argument of the kernel: its layout is the caller's
loop.kernel @tiles(%y: memref<2x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = loop.alloc scratch : memref<2x1x4x5xf32>
  loop.for parallel %p = 0 to 2 {
    loop.for parallel %i = 0 to 4 {
      loop.for parallel %j = 0 to 5 {
        loop.store %zero, %t[%p, 0, %i, %j] : memref<2x1x4x5xf32>
      }
    }
  }
  loop.for parallel %q = 0 to 2 {
    loop.for parallel %k = 0 to 4 {
      %a = loop.load %t[%q, 0, 1, %k + 1] : memref<2x1x4x5xf32>
      loop.store %a, %y[%q, %k] : memref<2x4xf32>
    }
  }
}

// VECTOR: loop-collapse-dims{kernel=no_vectors buffer=t dim=0}: an access of t moves a vector: collapse dims before you vectorize
loop.kernel @no_vectors(%y: memref<2x8xf32>) {
  %t = loop.alloc scratch : memref<2x8xf32>
  %zeros = arith.constant dense<0.0> : vector<8xf32>
  loop.for parallel %i = 0 to 2 {
    loop.store %zeros, %t[%i, 0] : memref<2x8xf32>, vector<8xf32>
  }
}

// SIZES: loop-collapse-dims{kernel=no_sizes buffer=t dim=0}: t needs a static shape and no layout: memref<?x8xf32>
loop.kernel @no_sizes(%y: memref<8xf32>, %N: index) {
  %zero = arith.constant 0.0 : f32
  %t = loop.alloc scratch(%N) : memref<?x8xf32>
  loop.for parallel %i = 0 to %N {
    loop.store %zero, %t[%i, 0] : memref<?x8xf32>
  }
}
