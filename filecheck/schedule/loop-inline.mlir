// RUN: lamina-opt %s %validate -p 'loop-inline{buffer=t}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-inline{buffer=t}' --split-input-file 2>/dev/null | filecheck %s

/// Each read computes its element; where the index itself counts, it is the subscript of the read.
// CHECK-LABEL: loop.kernel @shifted
//  CHECK-NEXT:   loop.for parallel %j = 0 to 63 {
//  CHECK-NEXT:     %[[A:.+]] = loop.load %x[%j + 1] : memref<64xf32>
//  CHECK-NEXT:     %[[ONE:.+]] = arith.constant 1 : index
//  CHECK-NEXT:     %[[I:.+]] = arith.addi %j, %[[ONE]] : index
//  CHECK-NEXT:     arith.index_cast %[[I]] : index to i64
//   CHECK-NOT:   %t
loop.kernel @shifted(%x: memref<64xf32>, %y: memref<64xf32>) {
  %t = loop.alloc stack : memref<64xf32>
  loop.for parallel %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    %n = arith.index_cast %i : index to i64
    %f = arith.sitofp %n : i64 to f32
    %b = arith.mulf %a, %f : f32
    loop.store %b, %t[%i] : memref<64xf32>
  }
  loop.for parallel %j = 0 to 63 {
    %c = loop.load %t[%j + 1] : memref<64xf32>
    loop.store %c, %y[%j] : memref<64xf32>
  }
}

// -----

/// The second half is never stored.
// expected-error@+1 {{t[j] (loop-inline.mlir:}}
loop.kernel @half(%x: memref<64xf32>, %y: memref<64xf32>) {
  %t = loop.alloc stack : memref<64xf32>
  loop.for parallel %i = 0 to 32 {
    %a = loop.load %x[%i] : memref<64xf32>
    loop.store %a, %t[%i] : memref<64xf32>
  }
  loop.for parallel %j = 0 to 64 {
    %c = loop.load %t[%j] : memref<64xf32>
    loop.store %c, %y[%j] : memref<64xf32>
  }
}

// -----

/// The input is written before the copy of it is read.
// expected-error@+1 {{what t is computed from changes before it is read: iteration j=31 writes x[31]}}
loop.kernel @reversed(%x: memref<64xf32>) {
  %t = loop.alloc stack : memref<64xf32>
  loop.for parallel %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    loop.store %a, %t[%i] : memref<64xf32>
  }
  loop.for seq %j = 0 to 64 {
    %c = loop.load %t[63 - %j] : memref<64xf32>
    loop.store %c, %x[%j] : memref<64xf32>
  }
}
