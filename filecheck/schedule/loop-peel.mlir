// RUN: lamina-opt %s %validate -p 'loop-peel{loop=io}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-peel{loop=io}' --split-input-file 2>/dev/null | filecheck %s

/// Full tiles have bounds that are numbers; the names in the rest are new.
// CHECK-LABEL: loop.kernel @tiles
//       CHECK:   loop.for parallel %io = 0 to (%N floordiv 8) * 8 step 8 {
//  CHECK-NEXT:     loop.for parallel %ii = 0 to 8 {
//  CHECK-NEXT:       %a = loop.load %x[%io + %ii]
//  CHECK-NEXT:       loop.store %a, %x[%io + %ii]
//       CHECK:   loop.for parallel %io_rest = (%N floordiv 8) * 8 to %N step 8 {
//  CHECK-NEXT:     loop.for parallel %ii_rest = 0 to %N - %io_rest {
//  CHECK-NEXT:       %{{.+}} = loop.load %x[%io_rest + %ii_rest]
loop.kernel @tiles(%x: memref<?xf32>, %N: index) shapes(%x[%N]) {
  loop.for parallel %io = 0 to %N step 8 {
    loop.for parallel %ii = 0 to min(8, %N - %io) {
      %a = loop.load %x[%io + %ii] : memref<?xf32>
      loop.store %a, %x[%io + %ii] : memref<?xf32>
    }
  }
}

// -----

/// Of numbers the rest is known too; carried values go from one part to the other.
// CHECK-LABEL: loop.kernel @numbers
//       CHECK:   %[[M:.+]] = loop.for seq %io = 0 to 16 step 8 carry %t = %zero : f32 {
//  CHECK-NEXT:     %r = loop.for reduce<add> %ii = 0 to 8 init %t : f32 {
//       CHECK:   %s = loop.for seq %io_rest = 16 to 20 step 8 carry %{{.+}} = %[[M]] : f32 {
//  CHECK-NEXT:     %{{.+}} = loop.for reduce<add> %ii_rest = 0 to 4 init
//       CHECK:   loop.store %s, %y[0]
loop.kernel @numbers(%x: memref<20xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for seq %io = 0 to 20 step 8 carry %t = %zero : f32 {
    %r = loop.for reduce<add> %ii = 0 to min(8, 20 - %io) init %t : f32 {
      %a = loop.load %x[%io + %ii] : memref<20xf32>
      loop.yield %a : f32
    }
    loop.yield %r : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

// -----

/// Where nothing is left there is one loop.
// CHECK-LABEL: loop.kernel @no_rest
//       CHECK:   loop.for seq %io = 0 to 64 step 8 {
//   CHECK-NOT:   _rest
loop.kernel @no_rest(%x: memref<64xf32>) {
  loop.for seq %io = 0 to 64 step 8 {
    %a = loop.load %x[%io] : memref<64xf32>
    loop.store %a, %x[%io] : memref<64xf32>
  }
}

// -----

// expected-error@+2 {{io has step 1: all its iterations are full tiles; say how many to peel: count=<n>}}
loop.kernel @no_tiles(%x: memref<64xf32>) {
  loop.for seq %io = 0 to 64 {
    %a = loop.load %x[%io] : memref<64xf32>
    loop.store %a, %x[%io] : memref<64xf32>
  }
}

// -----

// expected-error@+2 {{the bounds of io are several expressions: they cannot be cut there}}
loop.kernel @no_single_end(%x: memref<64xf32>, %N: index) {
  loop.for seq %io = 0 to min(%N, 60) step 8 {
    %a = loop.load %x[%io] : memref<64xf32>
    loop.store %a, %x[%io] : memref<64xf32>
  }
}
