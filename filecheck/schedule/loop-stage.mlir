// RUN: lamina-opt %s %validate -p 'loop-stage{buffer=A at=io order=k,ii pad=ii}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-stage{buffer=A at=io order=k,ii pad=ii}' --split-input-file 2>/dev/null | filecheck %s

/// The copy has the order of the dims; rows that the last tile does not have are zeros.
// CHECK-LABEL: loop.kernel @panel
//       CHECK:   %zero = arith.constant 0.000000e+00 : f32
//       CHECK:   loop.for seq %io = 0 to %M step 6 {
//  CHECK-NEXT:     %A_packed = loop.alloc scratch : memref<256x6xf32>
//  CHECK-NEXT:     loop.for seq %k_a = 0 to min(256, %K) {
//  CHECK-NEXT:       loop.for seq %ii_a = 0 to min(6, %M - %io) {
//  CHECK-NEXT:         %[[A:.+]] = loop.load %A[%io + %ii_a, %k_a] : memref<?x?xf32>
//  CHECK-NEXT:         loop.store %[[A]], %A_packed[%k_a, %ii_a] : memref<256x6xf32>
//  CHECK-NEXT:       }
//  CHECK-NEXT:       loop.for seq %ii_a_z = %M - %io to 6 {
//  CHECK-NEXT:         loop.store %zero, %A_packed[%k_a, %ii_a_z] : memref<256x6xf32>
//       CHECK:     loop.for seq %k = 0 to min(256, %K) {
//  CHECK-NEXT:       loop.for seq %ii = 0 to min(6, %M - %io) {
//  CHECK-NEXT:         loop.load %A_packed[%k, %ii] : memref<256x6xf32>
loop.kernel @panel(%A: memref<?x?xf32>, %C: memref<?xf32>, %M: index, %K: index) shapes(%A[%M, %K], %C[%M]) {
  loop.for seq %io = 0 to %M step 6 {
    loop.for seq %k = 0 to min(256, %K) {
      loop.for seq %ii = 0 to min(6, %M - %io) {
        %a = loop.load %A[%io + %ii, %k] : memref<?x?xf32>
        %c = loop.load %C[%io + %ii] : memref<?xf32>
        %s = arith.addf %a, %c : f32
        loop.store %s, %C[%io + %ii] : memref<?xf32>
      }
    }
  }
}

// -----

/// A dim is counted in iterations: every second row, from the first one on.
// CHECK-LABEL: loop.kernel @strided
//       CHECK:   %A_packed = loop.alloc scratch : memref<8x2xf32>
//       CHECK:   loop.load %A[%ii_a, %k_a]
//  CHECK-NEXT:   loop.store %{{.+}}, %A_packed[%k_a, %ii_a floordiv 2]
//       CHECK:   loop.load %A_packed[%k, %ii floordiv 2] : memref<8x2xf32>
loop.kernel @strided(%A: memref<4x8xf32>, %C: memref<8xf32>) {
  loop.for seq %io = 0 to 8 {
    loop.for seq %k = 0 to 8 {
      loop.for seq %ii = 0 to 4 step 2 {
        %a = loop.load %A[%ii, %k] : memref<4x8xf32>
        loop.store %a, %C[%io] : memref<8xf32>
      }
    }
  }
}

// -----

/// The loop changes what it reads.
// expected-error@+2 {{loop io writes what it reads: iteration}}
loop.kernel @written(%A: memref<?x?xf32>, %M: index) shapes(%A[%M + 4, %M + 8]) {
  loop.for seq %io = 0 to %M {
    loop.for seq %k = 0 to 8 {
      loop.for seq %ii = 0 to 4 {
        %a = loop.load %A[%io + %ii, %k] : memref<?x?xf32>
        loop.store %a, %A[%io, %k] : memref<?x?xf32>
      }
    }
  }
}

// -----

// expected-error@+2 {{order must name the loops in io that move A[io, k]: k}}
loop.kernel @order(%A: memref<8x8xf32>, %C: memref<8xf32>) {
  loop.for seq %io = 0 to 8 {
    loop.for seq %k = 0 to 8 {
      loop.for seq %ii = 0 to 4 {
        %a = loop.load %A[%io, %k] : memref<8x8xf32>
        loop.store %a, %C[%io] : memref<8xf32>
      }
    }
  }
}
