// RUN: lamina-opt %s --target=x86-64-v4 -p loop-auto | filecheck %s

/// Rows that are added to at places that data gives keep their order, their columns are divided among threads: parts of two
/// cache lines, whatever the sizes are. What belongs to a row is computed in each part.
loop.kernel @segment_sum(%v: memref<?x?xf32>, %node: memref<?xi64>, %out: memref<?x?xf32>, %E: index, %D: index, %N: index) shapes(%v[%E, %D], %node[%E], %out[%N, %D]) {
  loop.for seq %e = 0 to %E {
    %n = loop.load %node[%e] : memref<?xi64>
    loop.for seq %d = 0 to %D {
      %at = arith.index_cast %n : i64 to index
      %a = loop.load %out[%at, %d] : memref<?x?xf32>
      %b = loop.load %v[%e, %d] : memref<?x?xf32>
      %s = arith.addf %a, %b : f32
      loop.store %s, %out[%at, %d] : memref<?x?xf32>
    }
  }
}
// CHECK-LABEL: loop.kernel @segment_sum(
//       CHECK:   loop.for parallel %do = 0 to %D step 32 threads(interchange{{.*}}) {
//  CHECK-NEXT:     loop.for seq %e = 0 to %E {
//       CHECK:       loop.for vector %di = 0 to 32 step 32 {
//       CHECK:         loop.prefetch %out[%{{.+}}, %do + %di]
//       CHECK:         loop.prefetch %v[%e + 16, %do + %di]

/// A recurrence from row to row.
loop.kernel @recurrence(%x: memref<?x?xf64>, %h: memref<?x?xf64>, %T: index, %D: index) shapes(%x[%T, %D], %h[%T, %D]) {
  loop.for seq %t = 1 to %T {
    loop.for seq %d = 0 to %D {
      %a = loop.load %h[%t - 1, %d] : memref<?x?xf64>
      %b = loop.load %x[%t, %d] : memref<?x?xf64>
      %s = arith.addf %a, %b : f64
      loop.store %s, %h[%t, %d] : memref<?x?xf64>
    }
  }
}
// CHECK-LABEL: loop.kernel @recurrence(
//       CHECK:   loop.for parallel %do = 0 to %D step 16 threads(interchange{{.*}}) {
//  CHECK-NEXT:     loop.for seq %t = 1 to %T {
//       CHECK:       loop.for vector %di = 0 to 16 step 16 {

/// Columns that need one another, and rows that are too short for two parts.
loop.kernel @no_parts(%x: memref<?x63xf32>, %y: memref<?x?xf32>, %T: index, %D: index) shapes(%x[%T, 63], %y[%T, %D]) {
  loop.for seq %t = 1 to %T {
    loop.for seq %d = 0 to 63 {
      %a = loop.load %x[%t - 1, %d] : memref<?x63xf32>
      loop.store %a, %x[%t, %d] : memref<?x63xf32>
    }
  }
  loop.for seq %u = 1 to %T {
    loop.for seq %k = 1 to %D {
      %a = loop.load %y[%u - 1, %k] : memref<?x?xf32>
      %b = loop.load %y[%u, %k - 1] : memref<?x?xf32>
      %s = arith.addf %a, %b : f32
      loop.store %s, %y[%u, %k] : memref<?x?xf32>
    }
  }
}
// CHECK-LABEL: loop.kernel @no_parts(
//   CHECK-NOT:   loop.for parallel
