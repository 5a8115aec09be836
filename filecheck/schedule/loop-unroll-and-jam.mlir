// RUN: lamina-opt %s %validate -p 'loop-unroll-and-jam{loop=i factor=2}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-unroll-and-jam{loop=i factor=2}' --split-input-file 2>/dev/null | filecheck %s

/// Two rows at a time: the vector is loaded once for both. The last row of an odd number has a loop of its own.
// CHECK-LABEL: loop.kernel @product
//       CHECK:   loop.for parallel %io = 0 to (%N floordiv 2) * 2 step 2 {
//  CHECK-NEXT:     %s, %[[S:.+]] = loop.for reduce<add> %k = 0 to %K init %zero : f32, %zero : f32 {
//  CHECK-NEXT:       %a = loop.load %x[%io, %k]
//  CHECK-NEXT:       %[[A:.+]] = loop.load %x[%io + 1, %k]
//  CHECK-NEXT:       %b = loop.load %w[%k]
//  CHECK-NEXT:       %c = arith.mulf %a, %b
//  CHECK-NEXT:       %[[C:.+]] = arith.mulf %[[A]], %b
//  CHECK-NEXT:       loop.yield %c, %[[C]]
//  CHECK-NEXT:     }
//  CHECK-NEXT:     loop.store %s, %y[%io]
//  CHECK-NEXT:     loop.store %[[S]], %y[%io + 1]
//  CHECK-NEXT:   }
//  CHECK-NEXT:   loop.for parallel %io_rest = (%N floordiv 2) * 2 to %N step 2 {
//  CHECK-NEXT:     loop.for parallel %ii_rest = 0 to 1 {
loop.kernel @product(%x: memref<?x?xf32>, %w: memref<?xf32>, %y: memref<?xf32>, %N: index, %K: index)
    shapes(%x[%N, %K], %w[%K], %y[%N]) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to %N {
    %s = loop.for reduce<add> %k = 0 to %K init %zero : f32 {
      %a = loop.load %x[%i, %k] : memref<?x?xf32>
      %b = loop.load %w[%k] : memref<?xf32>
      %c = arith.mulf %a, %b : f32
      loop.yield %c : f32
    }
    loop.store %s, %y[%i] : memref<?xf32>
  }
}

// -----

/// A perfect nest: the inner part goes innermost.
// CHECK-LABEL: loop.kernel @nest
//       CHECK:   loop.for seq %io = 0 to 8 step 2 {
//  CHECK-NEXT:     loop.for seq %j = 0 to 8 {
//  CHECK-NEXT:       loop.for unroll %ii = 0 to 2 {
//  CHECK-NEXT:         loop.load %y[%j]
//  CHECK-NEXT:         loop.load %x[%io + %ii, %j]
loop.kernel @nest(%x: memref<8x8xf32>, %y: memref<8xf32>) {
  loop.for seq %i = 0 to 8 {
    loop.for seq %j = 0 to 8 {
      %a = loop.load %y[%j] : memref<8xf32>
      %b = loop.load %x[%i, %j] : memref<8x8xf32>
      %c = arith.addf %a, %b : f32
      loop.store %c, %y[%j] : memref<8xf32>
    }
  }
}

// -----

/// Row by row each sum ends before the next one begins.
// expected-error@+2 {{iterations that would run at once touch one element: iteration i=0 writes y[1] and iteration i=1 reads it}}
loop.kernel @no_apart(%x: memref<8x8xf32>, %y: memref<9xf32>) {
  loop.for seq %i = 0 to 8 {
    %z = loop.load %y[%i] : memref<9xf32>
    %s = loop.for reduce<add> %k = 0 to 8 init %z : f32 {
      %a = loop.load %x[%i, %k] : memref<8x8xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i + 1] : memref<9xf32>
  }
}

// -----

// expected-error@+2 {{the bounds of j may change with i}}
loop.kernel @no_triangle(%x: memref<8x8xf32>) {
  loop.for seq %i = 0 to 8 {
    loop.for seq %j = 0 to %i {
      %a = loop.load %x[%i, %j] : memref<8x8xf32>
      loop.store %a, %x[%i, %j] : memref<8x8xf32>
    }
  }
}
