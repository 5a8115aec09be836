// RUN: lamina-opt %s %validate -p 'loop-split{loop=i size=8}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-split{loop=i size=8}' --split-input-file 2>/dev/null | filecheck %s

/// The inner loop ends where the old one did; subscripts take the sum up, other uses of the index get one op.
// CHECK-LABEL: loop.kernel @remainder
//       CHECK:   loop.for seq %io = 0 to %N step 8 {
//  CHECK-NEXT:     loop.for seq %ii = 0 to min(8, %N - %io) {
//  CHECK-NEXT:       %i = arith.addi %io, %ii : index
//  CHECK-NEXT:       %a = loop.load %x[%io + %ii + 1] : memref<?xf32>
//  CHECK-NEXT:       %b = arith.index_cast %i : index to i64
//  CHECK-NEXT:       loop.store %a, %x[%io + %ii] : memref<?xf32>
//  CHECK-NEXT:       loop.store %b, %y[%io + %ii] : memref<?xi64>
loop.kernel @remainder(%x: memref<?xf32>, %y: memref<?xi64>, %N: index) shapes(%x[%N + 1], %y[%N]) {
  loop.for seq %i = 0 to %N {
    %a = loop.load %x[%i + 1] : memref<?xf32>
    %b = arith.index_cast %i : index to i64
    loop.store %a, %x[%i] : memref<?xf32>
    loop.store %b, %y[%i] : memref<?xi64>
  }
}

// -----

/// A size that divides leaves numbers; bounds of loops inside take the sum up as well.
// CHECK-LABEL: loop.kernel @divides
//       CHECK:   loop.for seq %io = 0 to 64 step 8 {
//  CHECK-NEXT:     loop.for seq %ii = 0 to 8 {
//  CHECK-NEXT:       loop.for seq %j = 0 to %io + %ii + 1 {
//  CHECK-NEXT:         loop.load %x[%io + %ii, %j] : memref<64x64xf32>
loop.kernel @divides(%x: memref<64x64xf32>) {
  loop.for seq %i = 0 to 64 {
    loop.for seq %j = 0 to %i + 1 {
      %a = loop.load %x[%i, %j] : memref<64x64xf32>
      loop.store %a, %x[%i, %j] : memref<64x64xf32>
    }
  }
}

// -----

/// A reduction goes on from tile to tile: its order stays.
// CHECK-LABEL: loop.kernel @reduction
//       CHECK:   %s = loop.for seq %io = 0 to %N step 8 carry %[[S:.+]] = %zero : f32 {
//  CHECK-NEXT:     %[[R:.+]] = loop.for reduce<add> %ii = 0 to min(8, %N - %io) init %[[S]] : f32 {
//  CHECK-NEXT:       %a = loop.load %x[%io + %ii] : memref<?xf32>
//  CHECK-NEXT:       loop.yield %a : f32
//  CHECK-NEXT:     }
//  CHECK-NEXT:     loop.yield %[[R]] : f32
//  CHECK-NEXT:   }
//  CHECK-NEXT:   loop.store %s, %y[0]
loop.kernel @reduction(%x: memref<?xf32>, %y: memref<1xf32>, %N: index) shapes(%x[%N]) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to %N init %zero : f32 {
    %a = loop.load %x[%i] : memref<?xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

// -----

/// Carried values go through both loops; a loop with a step runs as many iterations as are said.
// CHECK-LABEL: loop.kernel @carried
//       CHECK:   %s = loop.for seq %io = %M to min(%N, 100) step 16 carry %[[T:.+]] = %zero : f32 {
//  CHECK-NEXT:     %{{.+}} = loop.for seq %ii = 0 to min(16, %N - %io, -%io + 100) step 2 carry %{{.+}} = %[[T]] : f32 {
//  CHECK-NEXT:       loop.load %x[%io + %ii]
loop.kernel @carried(%x: memref<100xf32>, %y: memref<1xf32>, %M: index, %N: index) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for seq %i = %M to min(%N, 100) step 2 carry %t = %zero : f32 {
    %a = loop.load %x[%i] : memref<100xf32>
    %u = arith.subf %a, %t : f32
    loop.yield %u : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

// -----

// expected-error@+1 {{no loop 'i' in kernel @no_such_loop}}
loop.kernel @no_such_loop(%x: memref<64xf32>) {
  loop.for seq %j = 0 to 64 {
    %a = loop.load %x[%j] : memref<64xf32>
    loop.store %a, %x[%j] : memref<64xf32>
  }
}
