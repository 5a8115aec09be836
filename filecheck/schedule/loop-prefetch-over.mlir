// RUN: lamina-opt %s %validate -p 'loop-prefetch{buffer=A at=k distance=1 over=i}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-prefetch{buffer=A at=k distance=1 over=i}' --split-input-file 2>/dev/null | filecheck %s

/// A tile of 4 x 32 elements is 8 lines: each of the 8 iterations that read it asks for one of the next tile.
// CHECK-LABEL: loop.kernel @tile
//       CHECK:   loop.for parallel %i = 0 to 8 {
//  CHECK-NEXT:     loop.prefetch %A[(%k + (%i mod 4)) + 4, (%i floordiv 4) * 16] : memref<?x32xf32>
//  CHECK-NEXT:     loop.for seq %t = 0 to 4 {
loop.kernel @tile(%A: memref<?x32xf32>, %C: memref<8xf32>, %K: index) shapes(%A[%K + 4, 32]) {
  loop.for seq %k = 0 to %K step 4 {
    loop.for parallel %i = 0 to 8 {
      loop.for seq %t = 0 to 4 {
        loop.for seq %j = 0 to 32 {
          %a = loop.load %A[%k + %t, %j] : memref<?x32xf32>
          loop.store %a, %C[%i] : memref<8xf32>
        }
      }
    }
  }
}

// -----

/// Fewer iterations than lines: each asks for several. What does not divide evenly is beside the tile.
// CHECK-LABEL: loop.kernel @several
//       CHECK:   loop.for parallel %i = 0 to 3 {
//  CHECK-NEXT:     loop.prefetch %A[%k + 2, %i * 16] : memref<?x32xf32>
//  CHECK-NEXT:     loop.prefetch %A[%k + 3, %i * 16] : memref<?x32xf32>
//  CHECK-NEXT:     loop.for seq %t = 0 to 2 {
loop.kernel @several(%A: memref<?x32xf32>, %C: memref<3xf32>, %K: index) shapes(%A[%K + 2, 32]) {
  loop.for seq %k = 0 to %K step 2 {
    loop.for parallel %i = 0 to 3 {
      loop.for seq %t = 0 to 2 {
        loop.for seq %j = 0 to 32 {
          %a = loop.load %A[%k + %t, %j] : memref<?x32xf32>
          loop.store %a, %C[%i] : memref<3xf32>
        }
      }
    }
  }
}

// -----

// expected-error@+2 {{loop-prefetch{buffer=A at=k distance=1 over=i}: the iterations of i do not read one tile of A that moves with k}}
loop.kernel @rows(%A: memref<?x8xf32>, %C: memref<8xf32>, %K: index) shapes(%A[%K, 8]) {
  loop.for seq %k = 0 to %K {
    loop.for parallel %i = 0 to 8 {
      %a = loop.load %A[%k, %i] : memref<?x8xf32>
      loop.store %a, %C[%i] : memref<8xf32>
    }
  }
}
