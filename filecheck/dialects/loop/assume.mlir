// RUN: lamina-opt %s --split-input-file --verify-diagnostics | filecheck %s --check-prefix TEXT
// RUN: not lamina-opt %s -p 'loop-parallelize{loop=i}' --split-input-file 2>/dev/null | filecheck %s

/// Different subscripts of a permutation are different elements.
//  TEXT-LABEL: loop.kernel @permutation
//        TEXT:   loop.if %ok {
//   TEXT-NEXT:     loop.assume permutation %idx : (memref<?xi64>)
// CHECK-LABEL: loop.kernel @permutation
//       CHECK:   loop.for parallel %i
loop.kernel @permutation(%idx: memref<?xi64>, %y: memref<?xf32>, %ok: i1, %N: index) shapes(%idx[%N], %y[%N]) {
  loop.if %ok {
    loop.assume permutation %idx : (memref<?xi64>)
    loop.for seq %i = 0 to %N {
      %k = loop.load %idx[%i] : memref<?xi64>
      %at = arith.index_cast %k : i64 to index
      %a = loop.load %y[%at] : memref<?xf32>
      %b = arith.addf %a, %a : f32
      loop.store %b, %y[%at] : memref<?xf32>
    }
  }
}

// -----

/// Ranges between offsets that increase do not overlap.
// CHECK-LABEL: loop.kernel @increasing
//       CHECK:   loop.for parallel %i
loop.kernel @increasing(%p: memref<?xi64>, %y: memref<?xf32>, %ok: i1, %N: index, %M: index) shapes(%p[%N + 1], %y[%M]) {
  loop.if %ok {
    loop.assume increasing %p : (memref<?xi64>)
    loop.for seq %i = 0 to %N {
      %k = loop.load %p[%i] : memref<?xi64>
      %l = loop.load %p[%i + 1] : memref<?xi64>
      %from = arith.index_cast %k : i64 to index
      %to = arith.index_cast %l : i64 to index
      loop.for seq %j = %from to %to {
        %a = loop.load %y[%j] : memref<?xf32>
        %b = arith.addf %a, %a : f32
        loop.store %b, %y[%j] : memref<?xf32>
      }
    }
  }
}

// -----

/// Neighbouring ranges that share their ends do.
// CHECK-NOT: loop.kernel @no_overlapping
loop.kernel @no_overlapping(%p: memref<?xi64>, %y: memref<?xf32>, %ok: i1, %N: index, %M: index) shapes(%p[%N + 1], %y[%M]) {
  loop.if %ok {
    loop.assume increasing %p : (memref<?xi64>)
    loop.for seq %i = 0 to %N {
      %k = loop.load %p[%i] : memref<?xi64>
      %l = loop.load %p[%i + 1] : memref<?xi64>
      %from = arith.index_cast %k : i64 to index
      %to = arith.index_cast %l : i64 to index
      loop.for seq %j = %from to %to + 1 {
        %a = loop.load %y[%j] : memref<?xf32>
        %b = arith.addf %a, %a : f32
        loop.store %b, %y[%j] : memref<?xf32>
      }
    }
  }
}

// -----

/// A condition on sizes: the elements that are read and those that are written are different ones.
// CHECK-LABEL: loop.kernel @sizes
//       CHECK:   loop.for parallel %i
loop.kernel @sizes(%x: memref<?xf32>, %N: index, %K: index, %M: index) shapes(%x[%M]) {
  %far = arith.cmpi sge, %K, %N : index
  %one = arith.cmpi sge, %M, %K : index
  %ok = arith.andi %far, %one : i1
  loop.if %ok {
    loop.for seq %i = 0 to %N {
      %a = loop.load %x[%i] : memref<?xf32>
      loop.store %a, %x[%i + %K] : memref<?xf32>
    }
  }
}

// -----

loop.kernel @assume_c1_kind(%p: memref<?xi64>, %ok: i1, %N: index) shapes(%p[%N]) {
  loop.if %ok {
    // expected-error@+1 {{'loop.assume' op states permutation or increasing of an array of integers}}
    loop.assume sorted %p : (memref<?xi64>)
  }
}

// -----

loop.kernel @assume_c1_type(%p: memref<?xf32>, %ok: i1, %N: index) shapes(%p[%N]) {
  loop.if %ok {
    // expected-error@+1 {{'loop.assume' op states permutation or increasing of an array of integers}}
    loop.assume increasing %p : (memref<?xf32>)
  }
}

// -----

loop.kernel @assume_c2_place(%p: memref<?xi64>, %N: index) shapes(%p[%N]) {
  // expected-error@+1 {{'loop.assume' op begins a block of a loop.if}}
  loop.assume increasing %p : (memref<?xi64>)
}

// -----

loop.kernel @assume_c3_written(%p: memref<?xi64>, %ok: i1, %v: i64, %N: index) shapes(%p[%N]) {
  loop.if %ok {
    // expected-error@+1 {{'loop.assume' op states a fact about an array that the kernel writes}}
    loop.assume increasing %p : (memref<?xi64>)
    loop.store %v, %p[0] : memref<?xi64>
  }
}
