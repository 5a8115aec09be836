// RUN: lamina-opt %s %validate -p 'loop-prefetch-rows{buffer=T at=k distance=8}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-prefetch-rows{buffer=T at=k distance=8}' --split-input-file 2>/dev/null | filecheck %s

/// The place is read in an iteration that there is, and a vector asked for line by line.
// CHECK-LABEL: loop.kernel @gather
//       CHECK:   loop.for seq %k = 0 to %K {
//       CHECK:     %[[AHEAD:.*]] = arith.addi %k
//       CHECK:     %[[INSIDE:.*]] = arith.cmpi slt, %[[AHEAD]], %K : index
//       CHECK:     %[[NEXT:.*]] = arith.select %[[INSIDE]], %[[AHEAD]], %k : index
//       CHECK:     %[[PLACE:.*]] = loop.load %I[%[[NEXT]]] : memref<?xi64>
//  CHECK-NEXT:     %[[ROW:.*]] = arith.index_cast %[[PLACE]] : i64 to index
//  CHECK-NEXT:     loop.prefetch %T[%[[ROW]], 0] : memref<9x32xf32>
//  CHECK-NEXT:     loop.prefetch %T[%[[ROW]], 16] : memref<9x32xf32>
//  CHECK-NEXT:     loop.load %T[
loop.kernel @gather(%T: memref<9x32xf32>, %I: memref<?xi64>, %C: memref<?x32xf32>, %K: index) shapes(%I[%K], %C[%K, 32]) {
  loop.for seq %k = 0 to %K {
    %0 = loop.load %I[%k] : memref<?xi64>
    %1 = arith.index_cast %0 : i64 to index
    %a = loop.load %T[%1, 0] : memref<9x32xf32>, vector<32xf32>
    loop.store %a, %C[%k, 0] : memref<?x32xf32>, vector<32xf32>
  }
}

// -----

// expected-error@+2 {{loop-prefetch-rows{buffer=T at=k distance=8}: no subscript of T is loaded from memory along k}}
loop.kernel @affine(%T: memref<8xf32>) {
  loop.for seq %k = 0 to 8 {
    %a = loop.load %T[%k] : memref<8xf32>
  }
}
