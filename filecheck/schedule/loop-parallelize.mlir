// RUN: lamina-opt %s %validate -p 'loop-parallelize{loop=i}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-parallelize{loop=i schedule=dynamic},loop-split{loop=i size=4},loop-use-threads{loop=io}' --split-input-file 2>/dev/null | filecheck %s --check-prefix DYNAMIC
// RUN: not lamina-opt %s -p 'loop-parallelize{loop=i}' --split-input-file 2>/dev/null | filecheck %s

/// Rows are apart, whatever happens within one; a local buffer is each iteration's own.
// CHECK-LABEL: loop.kernel @rows
//       CHECK:   loop.for parallel %i = 0 to %N {
//       CHECK:     loop.for seq %j = 1 to 8 {
//       DYNAMIC: loop.for parallel %io = 0 to %N step 4 dynamic threads {
//  DYNAMIC-NEXT:   loop.for parallel %ii = 0 to min(4, %N - %io) {
loop.kernel @rows(%x: memref<?x8xf32>, %N: index) shapes(%x[%N, 8]) {
  loop.for seq %i = 0 to %N {
    %t = loop.alloc stack : memref<8xf32>
    loop.for seq %j = 1 to 8 {
      %a = loop.load %x[%i, %j - 1] : memref<?x8xf32>
      loop.store %a, %t[%j] : memref<8xf32>
      %b = loop.load %t[%j] : memref<8xf32>
      loop.store %b, %x[%i, %j] : memref<?x8xf32>
    }
  }
}

// -----

// expected-error@+2 {{two iterations touch one element: iteration i=0 reads x[1] and iteration i=1 writes it}}
loop.kernel @no_shift(%x: memref<9xf32>) {
  loop.for seq %i = 0 to 8 {
    %a = loop.load %x[%i + 1] : memref<9xf32>
    loop.store %a, %x[%i] : memref<9xf32>
  }
}

// -----

// expected-error@+3 {{the reduce<add> loop carries values from one iteration to the next}}
loop.kernel @no_sum(%x: memref<8xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to 8 init %zero : f32 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

// -----

// expected-error@+2 {{cannot decide: a subscript of y depends on data}}
loop.kernel @no_answer(%x: memref<8xi64>, %y: memref<8xi64>) {
  loop.for seq %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xi64>
    %k = arith.index_cast %a : i64 to index
    loop.store %a, %y[%k] : memref<8xi64>
  }
}
