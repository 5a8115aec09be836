// RUN: lamina-opt %s %validate -p 'loop-skew{loop=j by=i}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-skew{loop=j by=i}' --split-input-file 2>/dev/null | filecheck %s
// RUN: not lamina-opt %s -p 'loop-skew{loop=j by=i},loop-reorder{loops=j,i triangular=true},loop-parallelize{loop=i}' --split-input-file 2>/dev/null | filecheck %s --check-prefix WAVE

/// Bounds move with the outer index; subscripts take it back. Interchanged, the inner loop is a wavefront.
// CHECK-LABEL: loop.kernel @wavefront
//       CHECK:   loop.for seq %i = 1 to %N {
//  CHECK-NEXT:     loop.for seq %j = %i + 1 to {{%i \+ %M|%M \+ %i}} {
//  CHECK-NEXT:       loop.load %x[%i - 1, -%i + %j]
//  CHECK-NEXT:       loop.load %x[%i, -%i + %j - 1]
//  WAVE-LABEL: loop.kernel @wavefront
//        WAVE:   loop.for seq %j = 2 to %N + %M - 1 {
//   WAVE-NEXT:     loop.for parallel %i = max(1, %j - %M + 1) to min(%N, %j) {
loop.kernel @wavefront(%x: memref<?x?xf32>, %N: index, %M: index) shapes(%x[%N, %M]) {
  loop.for seq %i = 1 to %N {
    loop.for seq %j = 1 to %M {
      %a = loop.load %x[%i - 1, %j] : memref<?x?xf32>
      %b = loop.load %x[%i, %j - 1] : memref<?x?xf32>
      %c = arith.addf %a, %b : f32
      loop.store %c, %x[%i, %j] : memref<?x?xf32>
    }
  }
}

// -----

/// A use of the index outside of subscripts gets its old value.
// CHECK-LABEL: loop.kernel @value
//       CHECK:     loop.for seq %j = %i to %i + 8 {
//       CHECK:       %{{.+}} = arith.index_cast %{{.+}} : index to i64
loop.kernel @value(%x: memref<8x8xi64>) {
  loop.for seq %i = 0 to 8 {
    loop.for seq %j = 0 to 8 {
      %a = arith.index_cast %j : index to i64
      loop.store %a, %x[%i, %j] : memref<8x8xi64>
    }
  }
}

// -----

// expected-error@+3 {{loop-skew{loop=j by=i}: 'i' is no loop around 'j'}}
loop.kernel @no_nest(%x: memref<8x8xi64>, %v: i64) {
  loop.for seq %i = 0 to 8 { }
  loop.for seq %j = 0 to 8 {
    loop.store %v, %x[0, %j] : memref<8x8xi64>
  }
}
