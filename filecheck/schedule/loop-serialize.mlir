// RUN: lamina-opt %s %validate -p 'loop-serialize{loop=j}' | filecheck %s
// RUN: not lamina-opt %s -p 'loop-serialize{loop=i}' 2>&1 | filecheck %s --check-prefix=SEQ

// The outer loop runs in order, so that the inner one is what threads share.

// CHECK-LABEL: loop.kernel @no_threads_outside
// CHECK: loop.for seq %j = 0 to %N {
// CHECK-NEXT: loop.for seq %i = 0 to 4 {
// SEQ: loop-serialize{loop=i}: i is not parallel but seq
loop.kernel @no_threads_outside(%x: memref<?x4xf32>, %N: index) shapes(%x[%N, 4]) {
  %one = arith.constant 1.0 : f32
  loop.for parallel %j = 0 to %N {
    loop.for seq %i = 0 to 4 {
      loop.store %one, %x[%j, %i] : memref<?x4xf32>
    }
  }
}
