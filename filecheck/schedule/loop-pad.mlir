// RUN: lamina-opt %s %validate -p 'loop-pad{loop=ii size=8}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-pad{loop=ii size=8}' --split-input-file 2>/dev/null | filecheck %s

/// What more iterations compute stands in %u behind the elements that are copied out.
// CHECK-LABEL: loop.kernel @tile
//       CHECK:   loop.for parallel %c = 0 to min(8, %N - %io) {
//       CHECK:   loop.for parallel %ii = 0 to 8 {
//       CHECK:   loop.for parallel %d = 0 to min(8, %N - %io) {
loop.kernel @tile(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  loop.for parallel %io = 0 to %N step 8 {
    %t = loop.alloc stack : memref<8xf32>
    %u = loop.alloc stack : memref<8xf32>
    loop.for parallel %c = 0 to min(8, %N - %io) {
      %a = loop.load %x[%io + %c] : memref<?xf32>
      loop.store %a, %t[%c] : memref<8xf32>
    }
    loop.for parallel %ii = 0 to min(8, %N - %io) {
      %a = loop.load %t[%ii] : memref<8xf32>
      %b = arith.mulf %a, %a : f32
      loop.store %b, %u[%ii] : memref<8xf32>
    }
    loop.for parallel %d = 0 to min(8, %N - %io) {
      %a = loop.load %u[%d] : memref<8xf32>
      loop.store %a, %y[%io + %d] : memref<?xf32>
    }
  }
}

// -----

/// The last tile is the only one that is not full, so what it writes beyond is never read.
// CHECK-LABEL: loop.kernel @last_tile
//       CHECK:   loop.for seq %ii = 0 to 8 {
loop.kernel @last_tile(%y: memref<?xf32>, %N: index) shapes(%y[%N]) {
  %one = arith.constant 1.0 : f32
  %u = loop.alloc stack : memref<8xf32>
  loop.for seq %io = 0 to %N step 8 {
    loop.for seq %ii = 0 to min(8, %N - %io) {
      loop.store %one, %u[%ii] : memref<8xf32>
    }
    loop.for seq %d = 0 to min(8, %N - %io) {
      %a = loop.load %u[%d] : memref<8xf32>
      loop.store %a, %y[%io + %d] : memref<?xf32>
    }
  }
}

// -----

// expected-error@+3 {{more iterations would write y, which is not local to the kernel}}
loop.kernel @no_local_buffer(%y: memref<?xf32>, %N: index) shapes(%y[%N + 8]) {
  %one = arith.constant 1.0 : f32
  loop.for seq %ii = 0 to min(8, %N) {
    loop.store %one, %y[%ii] : memref<?xf32>
  }
}

// -----

// expected-error@+3 {{the added iteration ii=0 reads x at 0 of dim 0, which has 0 elements}}
loop.kernel @no_padding(%x: memref<?xf32>, %N: index) shapes(%x[%N]) {
  %t = loop.alloc stack : memref<8xf32>
  loop.for seq %ii = 0 to min(8, %N) {
    %a = loop.load %x[%ii] : memref<?xf32>
    loop.store %a, %t[%ii] : memref<8xf32>
  }
}

// -----

/// Element 7 is set before, and read.
// expected-error@+5 {{an added iteration writes what another reads: iteration ii=7 writes t[7] and iteration i=0 reads it}}
loop.kernel @no_overwriting(%x: memref<?xf32>, %N: index) shapes(%x[%N]) {
  %one = arith.constant 1.0 : f32
  %t = loop.alloc stack : memref<8xf32>
  loop.store %one, %t[7] : memref<8xf32>
  loop.for seq %ii = 0 to min(7, %N) {
    loop.store %one, %t[%ii] : memref<8xf32>
  }
  loop.for seq %i = 0 to %N {
    %a = loop.load %t[7] : memref<8xf32>
    loop.store %a, %x[%i] : memref<?xf32>
  }
}

// -----

// expected-error@+3 {{ii carries values, which more iterations would change}}
loop.kernel @no_sum(%y: memref<1xf32>, %N: index) {
  %one = arith.constant 1.0 : f32
  %s = loop.for reduce<add> %ii = 0 to min(8, %N) init %one : f32 {
    loop.yield %one : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

// -----

/// A part that starts where a block does is counted from there.
// CHECK-LABEL: loop.kernel @part
//       CHECK:   loop.for parallel %ii = 0 to 8 {
//  CHECK-NEXT:     loop.store %one, %u[%ii] : memref<8xf32>
loop.kernel @part(%y: memref<20xf32>) {
  %one = arith.constant 1.0 : f32
  loop.for parallel %io = 0 to 20 step 8 {
    %u = loop.alloc stack : memref<8xf32>
    loop.for parallel %ii = %io to min(20, %io + 8) {
      loop.store %one, %u[%ii - %io] : memref<8xf32>
    }
    loop.for parallel %d = 0 to min(8, 20 - %io) {
      %a = loop.load %u[%d] : memref<8xf32>
      loop.store %a, %y[%io + %d] : memref<20xf32>
    }
  }
}
