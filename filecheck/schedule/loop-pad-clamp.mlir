// RUN: lamina-opt %s %validate -p 'loop-pad{loop=ii size=8 clamp=x}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-pad{loop=ii size=8 clamp=x}' --split-input-file 2>/dev/null | filecheck %s

/// What is read beyond the end of %x goes to %u, where nothing reads it; the place is known outside of the inner loop.
// CHECK-LABEL: loop.kernel @row_sums
//       CHECK:     loop.for parallel %ii = 0 to 8 {
//  CHECK-NEXT:       %[[AT:.*]] = arith.addi %io, %ii : index
//       CHECK:       %[[LAST:.*]] = arith.addi %N
//       CHECK:       %[[ROW:.*]] = arith.minsi %[[AT]], %[[LAST]] : index
//       CHECK:       loop.for reduce<add> %k
//       CHECK:         loop.load %x[%[[ROW]], %k]
loop.kernel @row_sums(%x: memref<?x4xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N, 4], %y[%N]) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %io = 0 to %N step 8 {
    %u = loop.alloc stack : memref<8xf32>
    loop.for parallel %ii = 0 to min(8, %N - %io) {
      %s = loop.for reduce<add> %k = 0 to 4 init %zero : f32 {
        %a = loop.load %x[%io + %ii, %k] : memref<?x4xf32>
        loop.yield %a : f32
      }
      loop.store %s, %u[%ii] : memref<8xf32>
    }
    loop.for parallel %d = 0 to min(8, %N - %io) {
      %a = loop.load %u[%d] : memref<8xf32>
      loop.store %a, %y[%io + %d] : memref<?xf32>
    }
  }
}

// -----

/// An array without elements has no last one.
// expected-error@+3 {{x may be empty: it has no last element}}
loop.kernel @perhaps_empty(%x: memref<?xf32>, %N: index) shapes(%x[%N]) {
  %t = loop.alloc stack : memref<8xf32>
  loop.for seq %ii = 0 to min(8, %N) {
    %a = loop.load %x[%ii] : memref<?xf32>
    loop.store %a, %t[%ii] : memref<8xf32>
  }
}

// -----

/// What goes backwards is held at the beginning.
// CHECK-LABEL: loop.kernel @before_the_start
//       CHECK:     %[[AT:.*]] = arith.addi %{{.*}}, %{{.*}} : index
//       CHECK:     %[[ROW:.*]] = arith.maxsi %[[AT]], %{{.*}} : index
//  CHECK-NEXT:     loop.load %x[%[[ROW]]]
loop.kernel @before_the_start(%x: memref<7xf32>) {
  %t = loop.alloc stack : memref<8xf32>
  loop.for seq %ii = 0 to 7 {
    %a = loop.load %x[-%ii + 6] : memref<7xf32>
    loop.store %a, %t[%ii] : memref<8xf32>
  }
}

// -----

/// A place that is not linear is not held.
// expected-error@+3 {{a read of x has a subscript that is not linear}}
loop.kernel @to_and_fro(%x: memref<7xf32>) {
  %t = loop.alloc stack : memref<8xf32>
  loop.for seq %ii = 0 to 7 {
    %a = loop.load %x[%ii - %ii floordiv 2] : memref<7xf32>
    loop.store %a, %t[%ii] : memref<8xf32>
  }
}

// -----

/// Reads are held, not writes.
// expected-error@+2 {{more iterations would write y, which is not local to the kernel}}
loop.kernel @not_local(%x: memref<7xf32>, %y: memref<8xf32>) {
  loop.for seq %ii = 0 to 7 {
    %a = loop.load %x[-%ii + 6] : memref<7xf32>
    loop.store %a, %y[%ii] : memref<8xf32>
  }
}
