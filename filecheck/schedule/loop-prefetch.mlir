// RUN: lamina-opt %s %validate -p 'loop-prefetch{buffer=A at=k distance=8}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-prefetch{buffer=A at=k distance=8}' --split-input-file 2>/dev/null | filecheck %s

/// Distances count iterations. The loop inside stays in the cache line: its first element is asked for, before it.
// CHECK-LABEL: loop.kernel @line
//       CHECK:   loop.for seq %k = 0 to %K step 2 {
//  CHECK-NEXT:     loop.prefetch %A[%k + 16, 0] : memref<?x6xf32>
//  CHECK-NEXT:     loop.for seq %i = 0 to 6 {
//  CHECK-NEXT:       loop.load %A[%k, %i]
loop.kernel @line(%A: memref<?x6xf32>, %C: memref<6xf32>, %K: index) shapes(%A[%K, 6]) {
  loop.for seq %k = 0 to %K step 2 {
    loop.for seq %i = 0 to 6 {
      %a = loop.load %A[%k, %i] : memref<?x6xf32>
      loop.store %a, %C[%i] : memref<6xf32>
    }
  }
}

// -----

/// One hint for each subscript, and for each cache line of a vector.
// CHECK-LABEL: loop.kernel @lanes
//       CHECK:   loop.prefetch %A[%k + 8, 0] : memref<9x48xf32>
//  CHECK-NEXT:   loop.load %A[%k, 0] : memref<9x48xf32>, vector<16xf32>
//  CHECK-NEXT:   loop.load %A[%k, 0] : memref<9x48xf32>, vector<16xf32>
//  CHECK-NEXT:   loop.prefetch %A[%k + 9, 0] : memref<9x48xf32>
//  CHECK-NEXT:   loop.load %A[%k + 1, 0] : memref<9x48xf32>, vector<16xf32>
//  CHECK-NEXT:   loop.prefetch %A[%k + 8, 7] : memref<9x48xf32>
//  CHECK-NEXT:   loop.prefetch %A[%k + 8, 23] : memref<9x48xf32>
//  CHECK-NEXT:   loop.load %A[%k, 7] : memref<9x48xf32>, vector<32xf32>
//  CHECK-NEXT:   loop.prefetch %A[%k + 8, 3] : memref<9x48xf32>
//  CHECK-NEXT:   loop.load %A[%k, 3] step 2 : memref<9x48xf32>, vector<16xf32>
loop.kernel @lanes(%A: memref<9x48xf32>) {
  loop.for seq %k = 0 to 8 {
    %a = loop.load %A[%k, 0] : memref<9x48xf32>, vector<16xf32>
    %b = loop.load %A[%k, 0] : memref<9x48xf32>, vector<16xf32>
    %c = loop.load %A[%k + 1, 0] : memref<9x48xf32>, vector<16xf32>
    %d = loop.load %A[%k, 7] : memref<9x48xf32>, vector<32xf32>
    %e = loop.load %A[%k, 3] step 2 : memref<9x48xf32>, vector<16xf32>
  }
}

// -----

// expected-error@+2 {{loop-prefetch{buffer=A at=k distance=8}: what is read does not change with k: A[0]}}
loop.kernel @still(%A: memref<8xf32>) {
  loop.for seq %k = 0 to 8 {
    %a = loop.load %A[0] : memref<8xf32>
  }
}
