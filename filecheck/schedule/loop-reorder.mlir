// RUN: lamina-opt %s %validate -p 'loop-reorder{loops=k,i}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-reorder{loops=k,i}' --split-input-file 2>/dev/null | filecheck %s

/// Each element still collects its products in the order of %k. The loop between stays where it is.
// CHECK-LABEL: loop.kernel @matmul
//       CHECK:   loop.for seq %k = 0 to %K {
//  CHECK-NEXT:     loop.for parallel %j = 0 to %N {
//  CHECK-NEXT:       loop.for parallel %i = 0 to %M {
//  CHECK-NEXT:         %c = loop.load %C[%i, %j]
//       CHECK:         loop.store %s, %C[%i, %j]
//  CHECK-NEXT:       }
//  CHECK-NEXT:     }
//  CHECK-NEXT:   }
loop.kernel @matmul(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>, %M: index, %K: index, %N: index)
    shapes(%A[%M, %K], %B[%K, %N], %C[%M, %N]) {
  loop.for parallel %i = 0 to %M {
    loop.for parallel %j = 0 to %N {
      loop.for seq %k = 0 to %K {
        %c = loop.load %C[%i, %j] : memref<?x?xf32>
        %a = loop.load %A[%i, %k] : memref<?x?xf32>
        %b = loop.load %B[%k, %j] : memref<?x?xf32>
        %s = math.fma %a, %b, %c : f32
        loop.store %s, %C[%i, %j] : memref<?x?xf32>
      }
    }
  }
}

// -----

/// What row 1 writes, row 2 reads one column before: in the new order that would be too early.
// expected-error@+3 {{two dependent iterations would be reordered: iteration i=1, k=1 writes x[1, 1] and iteration i=2, k=0 reads it}}
loop.kernel @no_stencil(%x: memref<9x9xf32>) {
  loop.for seq %i = 1 to 9 {
    loop.for seq %k = 0 to 8 {
      %a = loop.load %x[%i - 1, %k + 1] : memref<9x9xf32>
      loop.store %a, %x[%i, %k] : memref<9x9xf32>
    }
  }
}

// -----

// expected-error@+3 {{the bounds of k depend on i, which would be inside}}
loop.kernel @no_triangle(%x: memref<8x8xf32>) {
  loop.for parallel %i = 0 to 8 {
    loop.for parallel %k = 0 to %i {
      %a = loop.load %x[%i, %k] : memref<8x8xf32>
      loop.store %a, %x[%i, %k] : memref<8x8xf32>
    }
  }
}

// -----

// expected-error@+5 {{the loops are not perfectly nested: the body of i is not just one loop, it also has 'loop.store'}}
loop.kernel @no_perfect_nest(%x: memref<8x8xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 8 {
    loop.store %zero, %y[%i] : memref<8xf32>
    loop.for parallel %k = 0 to 8 {
      loop.store %zero, %x[%i, %k] : memref<8x8xf32>
    }
  }
}

// -----

/// A sum in the order of the rows would become one in the order of the columns.
// expected-error@+3 {{iteration i=0, k=1 reads s[0] and iteration i=1, k=0 writes it}}
loop.kernel @no_sum(%x: memref<8x8xf32>, %s: memref<1xf32>) {
  loop.for seq %i = 0 to 8 {
    loop.for seq %k = 0 to 8 {
      %a = loop.load %x[%i, %k] : memref<8x8xf32>
      %b = loop.load %s[0] : memref<1xf32>
      %c = arith.addf %b, %a : f32
      loop.store %c, %s[0] : memref<1xf32>
    }
  }
}

// -----

/// Iterations of a parallel loop run at once, also where a sequential one around it keeps them apart.
// expected-error@+3 {{two dependent iterations would be reordered}}
loop.kernel @no_wavefront(%x: memref<9x9xf32>) {
  loop.for seq %i = 0 to 8 {
    loop.for parallel %k = 0 to 8 {
      %a = loop.load %x[%i, %k] : memref<9x9xf32>
      loop.store %a, %x[%i + 1, %k + 1] : memref<9x9xf32>
    }
  }
}

// -----

/// Nested reductions that are one may run in any order; only the outermost one starts from a value.
// CHECK-LABEL: loop.kernel @reductions
//       CHECK:   %s = loop.for reduce<add> %k = 0 to 8 step 2 init %start : f32 {
//  CHECK-NEXT:     %t = loop.for reduce<add> %j = 0 to 3 init %zero : f32 {
//  CHECK-NEXT:       %u = loop.for reduce<add> %i = 0 to 5 init %zero : f32 {
//  CHECK-NEXT:         %a = loop.load %x[%i, %j + %k] : memref<5x16xf32>
loop.kernel @reductions(%x: memref<5x16xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %start = loop.load %y[0] : memref<1xf32>
  %s = loop.for reduce<add> %i = 0 to 5 init %start : f32 {
    %t = loop.for reduce<add> %j = 0 to 3 init %zero : f32 {
      %u = loop.for reduce<add> %k = 0 to 8 step 2 init %zero : f32 {
        %a = loop.load %x[%i, %j + %k] : memref<5x16xf32>
        loop.yield %a : f32
      }
      loop.yield %u : f32
    }
    loop.yield %t : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

// -----

/// Each row adds what was there before.
// expected-error@+5 {{the loops are not perfectly nested: i carries values}}
loop.kernel @no_start(%x: memref<5x8xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %start = loop.load %y[0] : memref<1xf32>
  %s = loop.for reduce<add> %i = 0 to 5 init %zero : f32 {
    %t = loop.for reduce<add> %k = 0 to 8 init %start : f32 {
      %a = loop.load %x[%i, %k] : memref<5x8xf32>
      loop.yield %a : f32
    }
    loop.yield %t : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

// -----

// expected-error@+4 {{the loops are not perfectly nested: i carries values}}
loop.kernel @no_other_monoid(%x: memref<5x8xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<max> %i = 0 to 5 init %zero : f32 {
    %t = loop.for reduce<add> %k = 0 to 8 init %zero : f32 {
      %a = loop.load %x[%i, %k] : memref<5x8xf32>
      loop.yield %a : f32
    }
    loop.yield %t : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

// -----

// expected-error@+4 {{the bounds of k depend on i, which would be inside}}
loop.kernel @no_triangle_of_sums(%x: memref<8x8xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to 8 init %zero : f32 {
    %t = loop.for reduce<add> %k = 0 to %i init %zero : f32 {
      %a = loop.load %x[%i, %k] : memref<8x8xf32>
      loop.yield %a : f32
    }
    loop.yield %t : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}
