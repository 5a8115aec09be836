// RUN: lamina-opt %s %validate -p 'loop-fission{loop=i after=y}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-fission{loop=i after=y}' --split-input-file 2>/dev/null | filecheck %s

/// Index arithmetic is computed in both.
// CHECK-LABEL: loop.kernel @two
//       CHECK:   loop.for seq %i = 0 to %N {
//  CHECK-NEXT:     %k = arith.index_cast %i
//  CHECK-NEXT:     loop.store %k, %y[%i]
//  CHECK-NEXT:   }
//  CHECK-NEXT:   loop.for seq %i2 = 0 to %N {
//  CHECK-NEXT:     %[[K:.+]] = arith.index_cast %i2
//  CHECK-NEXT:     %a = loop.load %y[%i2]
//  CHECK-NEXT:     %b = arith.addi %a, %[[K]]
//  CHECK-NEXT:     loop.store %b, %z[%i2]
loop.kernel @two(%y: memref<?xi64>, %z: memref<?xi64>, %N: index) shapes(%y[%N], %z[%N]) {
  loop.for seq %i = 0 to %N {
    %k = arith.index_cast %i : index to i64
    loop.store %k, %y[%i] : memref<?xi64>
    %a = loop.load %y[%i] : memref<?xi64>
    %b = arith.addi %a, %k : i64
    loop.store %b, %z[%i] : memref<?xi64>
  }
}

// -----

/// A loop inside is named by its variable.
// CHECK-LABEL: loop.kernel @nest
//       CHECK:   loop.for parallel %i = 0 to 8 {
//  CHECK-NEXT:     loop.for parallel %y = 0 to 4 {
//       CHECK:   loop.for parallel %i2 = 0 to 8 {
//  CHECK-NEXT:     loop.for parallel %j = 0 to 4 {
//  CHECK-NEXT:       loop.load %x[%i2, %j]
loop.kernel @nest(%x: memref<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 8 {
    loop.for parallel %y = 0 to 4 {
      loop.store %zero, %x[%i, %y] : memref<8x4xf32>
    }
    loop.for parallel %j = 0 to 4 {
      %a = loop.load %x[%i, %j] : memref<8x4xf32>
      loop.store %a, %x[%i, %j] : memref<8x4xf32>
    }
  }
}

// -----

/// What the rest writes for the next iteration would come too late.
// expected-error@+2 {{two dependent iterations would be reordered: iteration i=0 writes x[1] and iteration i=1 reads it}}
loop.kernel @no_recurrence(%x: memref<9xf32>, %y: memref<9xf32>) {
  loop.for seq %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<9xf32>
    loop.store %a, %y[%i] : memref<9xf32>
    %b = loop.load %y[%i] : memref<9xf32>
    loop.store %b, %x[%i + 1] : memref<9xf32>
  }
}

// -----

// expected-error@+2 {{the rest uses %a, which the first part computes}}
loop.kernel @no_crossing(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  loop.for seq %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.store %a, %y[%i] : memref<8xf32>
    loop.store %a, %z[%i] : memref<8xf32>
  }
}

// -----

// expected-error@+2 {{no statement 'y' stands directly in i; there are: a, x}}
loop.kernel @no_statement(%x: memref<8xf32>) {
  loop.for seq %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.store %a, %x[%i] : memref<8xf32>
  }
}
