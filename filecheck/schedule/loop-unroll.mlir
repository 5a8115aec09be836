// RUN: lamina-opt %s %validate -p 'loop-unroll{loop=i},loop-unroll{loop=j factor=4}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-unroll{loop=i},loop-unroll{loop=j factor=4}' --split-input-file 2>/dev/null | filecheck %s

/// All of %i; of %j four iterations at a time, fewer at the end.
// CHECK-LABEL: loop.kernel @both
//       CHECK:   loop.for unroll %i = 0 to min(3, %N) {
//  CHECK-NEXT:     loop.for seq %jo = 0 to %N step 4 {
//  CHECK-NEXT:       loop.for unroll %ji = 0 to min(4, %N - %jo) {
//  CHECK-NEXT:         loop.load %x[%i, %jo + %ji]
loop.kernel @both(%x: memref<?x?xf32>, %N: index) shapes(%x[%N, %N]) {
  loop.for parallel %i = 0 to min(3, %N) {
    loop.for seq %j = 0 to %N {
      %a = loop.load %x[%i, %j] : memref<?x?xf32>
      loop.store %a, %x[%i, %j] : memref<?x?xf32>
    }
  }
}

// -----

/// A start that is not a number is added where the index is used; the limit becomes one of the bounds.
// CHECK-LABEL: loop.kernel @window
//       CHECK:   loop.for seq %jo = 0 to %N step 4 {
//       CHECK:     loop.for unroll %i = 0 to 3 {
//  CHECK-NEXT:       loop.load %x[%jo + %ji + %i + 1]
loop.kernel @window(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N + 3], %y[%N]) {
  loop.for seq %j = 0 to %N {
    loop.for seq %i = %j + 1 to %j + 4 {
      %a = loop.load %x[%i] : memref<?xf32>
      loop.store %a, %y[%j] : memref<?xf32>
    }
  }
}

// -----

/// The products of a reduction are added in the same order, with one rounding each.
// CHECK-LABEL: loop.kernel @reduction
//       CHECK:   %s = loop.for unroll %i = 0 to 4 carry %[[S:.+]] = %zero : f32 {
//  CHECK-NEXT:     %[[R:.+]] = loop.for reduce<add> %ii = %i to %i + 1 init %[[S]] : f32 {
//  CHECK-NEXT:       %a = loop.load %x[%ii]
//  CHECK-NEXT:       %b = arith.mulf %a, %a
//  CHECK-NEXT:       loop.yield %b
//       CHECK:     loop.yield %[[R]]
loop.kernel @reduction(%x: memref<4xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to 4 init %zero : f32 {
    %a = loop.load %x[%i] : memref<4xf32>
    %b = arith.mulf %a, %a : f32
    loop.yield %b : f32
  }
  loop.for seq %j = 0 to 8 {
    loop.store %s, %y[%j] : memref<8xf32>
  }
}

// -----

// expected-error@+2 {{the trip count of i has no limit that is a number; give a factor}}
loop.kernel @no_limit(%x: memref<?xf32>, %N: index) shapes(%x[%N]) {
  loop.for seq %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    loop.store %a, %x[%i] : memref<?xf32>
  }
}
