// RUN: lamina-opt %s %validate -p 'loop-tile{loops=i,j sizes=6,16}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-tile{loops=i,j sizes=6,16}' --split-input-file 2>/dev/null | filecheck %s

// CHECK-LABEL: loop.kernel @scale
//       CHECK:   loop.for parallel %io = 0 to %M step 6 {
//  CHECK-NEXT:     loop.for parallel %jo = 0 to 64 step 16 {
//  CHECK-NEXT:       loop.for parallel %ii = 0 to min(6, %M - %io) {
//  CHECK-NEXT:         loop.for parallel %ji = 0 to 16 {
//  CHECK-NEXT:           %a = loop.load %x[%io + %ii, %jo + %ji]
loop.kernel @scale(%x: memref<?x64xf32>, %M: index) shapes(%x[%M, 64]) {
  loop.for parallel %i = 0 to %M {
    loop.for parallel %j = 0 to 64 {
      %a = loop.load %x[%i, %j] : memref<?x64xf32>
      %b = arith.addf %a, %a : f32
      loop.store %b, %x[%i, %j] : memref<?x64xf32>
    }
  }
}

// -----

/// A loop between the two is around the inner parts, as it was around %j.
// CHECK-LABEL: loop.kernel @between
//       CHECK:   loop.for seq %io = 0 to 12 step 6 {
//  CHECK-NEXT:     loop.for seq %jo = 0 to 32 step 16 {
//  CHECK-NEXT:       loop.for seq %k = 0 to 3 {
//  CHECK-NEXT:         loop.for seq %ii = 0 to 6 {
//  CHECK-NEXT:           loop.for seq %ji = 0 to 16 {
loop.kernel @between(%x: memref<12x3x32xf32>) {
  loop.for seq %i = 0 to 12 {
    loop.for seq %k = 0 to 3 {
      loop.for seq %j = 0 to 32 {
        %a = loop.load %x[%i, %k, %j] : memref<12x3x32xf32>
        loop.store %a, %x[%i, %k, %j] : memref<12x3x32xf32>
      }
    }
  }
}

// -----

/// What is written at the left of a tile is read at the right end of the tile before it, a row later.
// expected-error@+2 {{two dependent iterations would be reordered: iteration i=0, j=16 writes x[1, 17] and iteration i=1, j=15 reads it}}
loop.kernel @no_stencil(%x: memref<9x40xf32>) {
  loop.for seq %i = 0 to 8 {
    loop.for seq %j = 0 to 32 {
      %a = loop.load %x[%i, %j + 2] : memref<9x40xf32>
      loop.store %a, %x[%i + 1, %j + 1] : memref<9x40xf32>
    }
  }
}

// -----

// expected-error@+3 {{not perfectly nested: the body of i is not just one loop}}
loop.kernel @no_perfect_nest(%x: memref<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for seq %i = 0 to 8 {
    loop.store %zero, %x[%i, 0] : memref<8x8xf32>
    loop.for seq %j = 0 to 8 {
      loop.store %zero, %x[%i, %j] : memref<8x8xf32>
    }
  }
}
