// RUN: lamina-opt %s %validate -p 'loop-compute-at{buffer=t at=i}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-compute-at{buffer=t at=i}' --split-input-file 2>/dev/null | filecheck %s

/// Three rows, bounded by what is computed; columns are needed all.
// CHECK-LABEL: loop.kernel @rows
//       CHECK:   loop.for seq %i = 0 to 64 {
//  CHECK-NEXT:     %t = loop.alloc stack : memref<3x32xf32>
//  CHECK-NEXT:     loop.for seq %r = %i to min(64, %i + 3) {
//  CHECK-NEXT:       loop.for seq %c = 0 to 32 {
//       CHECK:         loop.load %x[%r, %c] : memref<64x32xf32>
//       CHECK:         loop.store %{{.+}}, %t[%r - %i, %c] : memref<3x32xf32>
//       CHECK:     loop.for seq %j = 0 to 32 {
//  CHECK-NEXT:       loop.load %t[0, %j] : memref<3x32xf32>
loop.kernel @rows(%x: memref<64x32xf32>, %y: memref<64x32xf32>) {
  %t = loop.alloc stack : memref<64x32xf32>
  loop.for seq %r = 0 to 64 {
    loop.for seq %c = 0 to 32 {
      %a = loop.load %x[%r, %c] : memref<64x32xf32>
      %b = arith.addf %a, %a : f32
      loop.store %b, %t[%r, %c] : memref<64x32xf32>
    }
  }
  loop.for seq %i = 0 to 64 {
    loop.for seq %j = 0 to 32 {
      %u = loop.load %t[%i, %j] : memref<64x32xf32>
      %v = arith.constant true
      loop.if %v {
        %w = loop.load %t[%i + 2, %j] : memref<64x32xf32>
        loop.store %w, %y[%i, %j] : memref<64x32xf32>
      }
    }
  }
}

// -----

/// Loop i writes the input of a later iteration.
// expected-error@+7 {{what t is computed from changes before loop i reads it: iteration i=}}
loop.kernel @update(%x: memref<64xf32>) {
  %t = loop.alloc stack : memref<64xf32>
  loop.for seq %r = 0 to 64 {
    %a = loop.load %x[%r] : memref<64xf32>
    loop.store %a, %t[%r] : memref<64xf32>
  }
  loop.for seq %i = 0 to 63 {
    %u = loop.load %t[%i] : memref<64xf32>
    loop.store %u, %x[%i + 1] : memref<64xf32>
  }
}

// -----

/// A part of a known length is counted from 0.
// CHECK-LABEL: loop.kernel @blocks
//       CHECK:   loop.for parallel %i = 0 to 60 step 4 {
//  CHECK-NEXT:     %t = loop.alloc stack : memref<6xf32>
//  CHECK-NEXT:     loop.for parallel %r = 0 to 6 {
//  CHECK-NEXT:       %a = loop.load %x[%i + %r] : memref<64xf32>
//  CHECK-NEXT:       loop.store %a, %t[%r] : memref<6xf32>
//       CHECK:     loop.for parallel %j = 0 to 4 {
//  CHECK-NEXT:       %u = loop.load %t[%j + 2] : memref<6xf32>
loop.kernel @blocks(%x: memref<64xf32>, %y: memref<64xf32>) {
  %t = loop.alloc stack : memref<64xf32>
  loop.for parallel %r = 0 to 64 {
    %a = loop.load %x[%r] : memref<64xf32>
    loop.store %a, %t[%r] : memref<64xf32>
  }
  loop.for parallel %i = 0 to 60 step 4 {
    loop.for parallel %j = 0 to 4 {
      %u = loop.load %t[%i + %j + 2] : memref<64xf32>
      %v = loop.load %t[%i + %j] : memref<64xf32>
      %w = arith.addf %u, %v : f32
      loop.store %w, %y[%i + %j] : memref<64xf32>
    }
  }
}
