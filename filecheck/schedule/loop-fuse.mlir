// RUN: lamina-opt %s %validate -p 'loop-fuse{first=i second=j}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-fuse{first=i second=j}' --split-input-file 2>/dev/null | filecheck %s

/// What is computed between the loops goes before them.
// CHECK-LABEL: loop.kernel @chain
//       CHECK:   %two = arith.constant
//  CHECK-NEXT:   loop.for parallel %i = 0 to %N {
//  CHECK-NEXT:     %a = loop.load %x[%i]
//  CHECK-NEXT:     loop.store %a, %y[%i]
//  CHECK-NEXT:     %b = loop.load %y[%i]
//  CHECK-NEXT:     %c = arith.mulf %b, %two
//  CHECK-NEXT:     loop.store %c, %z[%i]
//  CHECK-NEXT:   }
//  CHECK-NEXT: }
loop.kernel @chain(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N], %z[%N]) {
  loop.for parallel %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    loop.store %a, %y[%i] : memref<?xf32>
  }
  %two = arith.constant 2.0 : f32
  loop.for parallel %j = 0 to %N {
    %b = loop.load %y[%j] : memref<?xf32>
    %c = arith.mulf %b, %two : f32
    loop.store %c, %z[%j] : memref<?xf32>
  }
}

// -----

/// An element of the iteration before: right in order, not at once.
// CHECK-LABEL: loop.kernel @behind
//       CHECK:   loop.for seq %i = 1 to 8 {
loop.kernel @behind(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  loop.for parallel %i = 1 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.store %a, %y[%i] : memref<8xf32>
  }
  loop.for parallel %j = 1 to 8 {
    %b = loop.load %y[%j - 1] : memref<8xf32>
    loop.store %b, %z[%j] : memref<8xf32>
  }
}

// -----

/// Two sums are collected side by side.
// CHECK-LABEL: loop.kernel @sums
//       CHECK:   %s, %t = loop.for reduce<add> %i = 0 to 8 init %zero : f32, %zero : f32 {
//       CHECK:     loop.yield %a, %b : f32, f32
loop.kernel @sums(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<2xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to 8 init %zero : f32 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.yield %a : f32
  }
  %t = loop.for reduce<add> %j = 0 to 8 init %zero : f32 {
    %b = loop.load %y[%j] : memref<8xf32>
    loop.yield %b : f32
  }
  loop.store %s, %z[0] : memref<2xf32>
  loop.store %t, %z[1] : memref<2xf32>
}

// -----

// expected-error@+2 {{j would touch an element too early: iteration i=1 writes y[1] and iteration j=0 reads it}}
loop.kernel @no_element_ahead(%x: memref<9xf32>, %y: memref<9xf32>, %z: memref<9xf32>) {
  loop.for parallel %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<9xf32>
    loop.store %a, %y[%i] : memref<9xf32>
  }
  loop.for parallel %j = 0 to 8 {
    %b = loop.load %y[%j + 1] : memref<9xf32>
    loop.store %b, %z[%j] : memref<9xf32>
  }
}

// -----

// expected-error@+3 {{their bounds are not the same}}
loop.kernel @no_same_bounds(%x: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 8 {
    loop.store %zero, %x[%i] : memref<8xf32>
  }
  loop.for parallel %j = 1 to 8 {
    loop.store %zero, %x[%j] : memref<8xf32>
  }
}

// -----

// expected-error@+3 {{j uses a value that i computes}}
loop.kernel @no_use(%x: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to 8 init %zero : f32 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.yield %a : f32
  }
  loop.for parallel %j = 0 to 8 {
    loop.store %s, %x[%j] : memref<8xf32>
  }
}
