// RUN: lamina-opt %s %validate -p 'loop-shift{loop=i count=2}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-shift{loop=i count=2}' --split-input-file 2>/dev/null | filecheck %s

/// A step stays; so do inner loops, whose bounds take the constant back.
// CHECK-LABEL: loop.kernel @steps
//       CHECK:   loop.for seq %i = 2 to %N + 2 step 4 {
//  CHECK-NEXT:     loop.for seq %j = 0 to %i - 2 {
//  CHECK-NEXT:       loop.load %x[%i + %j - 2]
loop.kernel @steps(%x: memref<?xf32>, %N: index) shapes(%x[2 * %N]) {
  loop.for seq %i = 0 to %N step 4 {
    loop.for seq %j = 0 to %i {
      %a = loop.load %x[%i + %j] : memref<?xf32>
      loop.store %a, %x[%i + %j] : memref<?xf32>
    }
  }
}

// -----

// expected-error@+2 {{loop-shift{loop=i count=2}: the loop is unroll: skew and shift loops before they are vectorized or unrolled}}
loop.kernel @no_unrolled(%x: memref<8xf32>) {
  loop.for unroll %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.store %a, %x[%i] : memref<8xf32>
  }
}
