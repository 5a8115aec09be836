// RUN: lamina-opt %s %validate -p 'loop-split-dim{kernel=classes buffer=t dim=1 factor=2}' | filecheck %s
// RUN: not lamina-opt %s -p 'loop-split-dim{kernel=classes buffer=t dim=0 factor=2}' 2>&1 | filecheck %s --check-prefix=REMAINDER
// RUN: not lamina-opt %s -p 'loop-split-dim{kernel=classes buffer=t dim=2 factor=2}' 2>&1 | filecheck %s --check-prefix=DIM
// RUN: not lamina-opt %s -p 'loop-split-dim{kernel=classes buffer=t dim=1 factor=1}' 2>&1 | filecheck %s --check-prefix=FACTOR
// RUN: not lamina-opt %s -p 'loop-split-dim{kernel=classes buffer=x dim=0 factor=2}' 2>&1 | filecheck %s --check-prefix=ARGUMENT
// RUN: not lamina-opt %s -p 'loop-split-dim{kernel=no_vectors buffer=t dim=0 factor=2}' 2>&1 | filecheck %s --check-prefix=VECTOR
// RUN: not lamina-opt %s -p 'loop-split-dim{kernel=no_sizes buffer=t dim=0 factor=2}' 2>&1 | filecheck %s --check-prefix=SIZES

/// The last element of the inner dim is one that nothing uses: 7 is odd.
// CHECK-LABEL: loop.kernel @classes
// CHECK: %t = loop.alloc scratch : memref<3x4x2xf32>
// CHECK: loop.store %{{.*}}, %t[%i, %j, 0] : memref<3x4x2xf32>
// CHECK: loop.store %{{.*}}, %t[%i, %k, 1] : memref<3x4x2xf32>
// CHECK: loop.load %t[%p, %q * 2 + 1, 0] : memref<3x4x2xf32>
// REMAINDER: loop-split-dim{kernel=classes buffer=t dim=0 factor=2}: the remainder of p by 2 in t[p, q * 4 + 2] is no number
// DIM: loop-split-dim{kernel=classes buffer=t dim=2 factor=2}: t has no dim 2: memref<3x7xf32>
// FACTOR: loop-split-dim{kernel=classes buffer=t dim=1 factor=1}: the factor must be 2 or more, got 1
// ARGUMENT: loop-split-dim{kernel=classes buffer=x dim=0 factor=2}: x is an argument of the kernel: its layout is the caller's
loop.kernel @classes(%x: memref<3x7xf32>, %y: memref<3x1xf32>) {
  %t = loop.alloc scratch : memref<3x7xf32>
  loop.for parallel %i = 0 to 3 {
    loop.for parallel %j = 0 to 4 {
      %a = loop.load %x[%i, %j * 2] : memref<3x7xf32>
      loop.store %a, %t[%i, %j * 2] : memref<3x7xf32>
    }
    loop.for parallel %k = 0 to 3 {
      %b = loop.load %x[%i, %k * 2 + 1] : memref<3x7xf32>
      loop.store %b, %t[%i, %k * 2 + 1] : memref<3x7xf32>
    }
  }
  loop.for parallel %p = 0 to 3 {
    loop.for parallel %q = 0 to 1 {
      %c = loop.load %t[%p, %q * 4 + 2] : memref<3x7xf32>
      loop.store %c, %y[%p, %q] : memref<3x1xf32>
    }
  }
}

// VECTOR: loop-split-dim{kernel=no_vectors buffer=t dim=0 factor=2}: an access of t moves a vector: split the dim before you vectorize
loop.kernel @no_vectors(%y: memref<8xf32>) {
  %t = loop.alloc stack : memref<8xf32>
  %zeros = arith.constant dense<0.0> : vector<8xf32>
  loop.store %zeros, %t[0] : memref<8xf32>, vector<8xf32>
  %a = loop.load %t[0] : memref<8xf32>, vector<8xf32>
  loop.store %a, %y[0] : memref<8xf32>, vector<8xf32>
}

// SIZES: loop-split-dim{kernel=no_sizes buffer=t dim=0 factor=2}: t needs a static shape and no layout: memref<?xf32>
loop.kernel @no_sizes(%N: index, %y: memref<?xf32>) shapes(%y[%N]) {
  %t = loop.alloc scratch(%N) : memref<?xf32>
}
