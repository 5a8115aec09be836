// RUN: lamina-opt %s -p 'loop-reorder{loops=k,i}' --split-input-file --verify-diagnostics
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
// expected-error@+3 {{two iterations would change places: iteration i=1, k=1 writes x[1, 1] and iteration i=2, k=0 reads it}}
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
// expected-error@+3 {{two iterations would change places}}
loop.kernel @no_wavefront(%x: memref<9x9xf32>) {
  loop.for seq %i = 0 to 8 {
    loop.for parallel %k = 0 to 8 {
      %a = loop.load %x[%i, %k] : memref<9x9xf32>
      loop.store %a, %x[%i + 1, %k + 1] : memref<9x9xf32>
    }
  }
}
