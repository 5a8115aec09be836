// RUN: lamina-opt %s %validate -p 'loop-hoist{kernel=rows buffer=t}' | filecheck %s
// RUN: lamina-opt %s -p 'loop-split{kernel=rows loop=i size=4},loop-hoist{kernel=rows buffer=t}' | filecheck %s --check-prefix=BLOCK
// RUN: not lamina-opt %s -p 'loop-hoist{kernel=rows buffer=x}' 2>&1 | filecheck %s --check-prefix=ARGUMENT
// RUN: not lamina-opt %s -p 'loop-hoist{kernel=no_loop buffer=t}' 2>&1 | filecheck %s --check-prefix=LOOP
// RUN: not lamina-opt %s -p 'loop-hoist{kernel=no_extent buffer=t}' 2>&1 | filecheck %s --check-prefix=EXTENT
// RUN: not lamina-opt %s -p 'loop-hoist{kernel=no_vectors buffer=t}' 2>&1 | filecheck %s --check-prefix=VECTOR
// RUN: not lamina-opt %s -p 'loop-hoist{kernel=no_sizes buffer=t}' 2>&1 | filecheck %s --check-prefix=SIZES

/// Iterations have numbers from 0: the loop begins at 2.
// CHECK-LABEL: loop.kernel @rows
//  CHECK-NEXT: %t = loop.alloc stack : memref<8x5xf32>
//  CHECK-NEXT: loop.for parallel %i = 2 to 10 {
//  CHECK-NEXT: loop.for parallel %j = 0 to 5 {
//       CHECK: loop.store %{{.*}}, %t[%i - 2, %j] : memref<8x5xf32>
//       CHECK: loop.load %t[%i - 2, %k] : memref<8x5xf32>

/// Only the loop directly around the buffer gets a dim.
// BLOCK-LABEL: loop.kernel @rows
//  BLOCK-NEXT: loop.for parallel %io = 2 to 10 step 4 {
//  BLOCK-NEXT: %t = loop.alloc stack : memref<4x5xf32>
//       BLOCK: loop.store %{{.*}}, %t[%ii, %j] : memref<4x5xf32>
// ARGUMENT: loop-hoist{kernel=rows buffer=x}: x is an argument of the kernel: its layout is the caller's
loop.kernel @rows(%x: memref<10x5xf32>, %y: memref<10x5xf32>) {
  loop.for parallel %i = 2 to 10 {
    %t = loop.alloc stack : memref<5xf32>
    loop.for parallel %j = 0 to 5 {
      %a = loop.load %x[%i, %j] : memref<10x5xf32>
      loop.store %a, %t[%j] : memref<5xf32>
    }
    loop.for parallel %k = 0 to 5 {
      %b = loop.load %t[%k] : memref<5xf32>
      loop.store %b, %y[%i, %k] : memref<10x5xf32>
    }
  }
}

// LOOP: loop-hoist{kernel=no_loop buffer=t}: t does not stand directly in a loop
loop.kernel @no_loop(%y: memref<8xf32>) {
  %t = loop.alloc stack : memref<8xf32>
}

// EXTENT: loop-hoist{kernel=no_extent buffer=t}: loop i has no constant upper bound on its extent: split it first
loop.kernel @no_extent(%N: index, %y: memref<?xf32>) shapes(%y[%N]) {
  loop.for parallel %i = 0 to %N {
    %t = loop.alloc stack : memref<8xf32>
  }
}

// VECTOR: loop-hoist{kernel=no_vectors buffer=t}: an access of t moves a vector: hoist before you vectorize
loop.kernel @no_vectors(%y: memref<8x8xf32>) {
  loop.for parallel %i = 0 to 8 {
    %t = loop.alloc stack : memref<8xf32>
    %zeros = arith.constant dense<0.0> : vector<8xf32>
    loop.store %zeros, %t[0] : memref<8xf32>, vector<8xf32>
    %a = loop.load %t[0] : memref<8xf32>, vector<8xf32>
    loop.store %a, %y[%i, 0] : memref<8x8xf32>, vector<8xf32>
  }
}

// SIZES: loop-hoist{kernel=no_sizes buffer=t}: t needs a static shape and no layout: memref<?xf32>
loop.kernel @no_sizes(%N: index, %y: memref<?xf32>) shapes(%y[%N]) {
  loop.for parallel %i = 0 to 8 {
    %t = loop.alloc scratch(%N) : memref<?xf32>
  }
}
