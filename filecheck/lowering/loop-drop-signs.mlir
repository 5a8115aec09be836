// RUN: lamina-opt %s -p loop-drop-signs | filecheck %s
// RUN: lamina-opt %s -p loop-drop-signs,loop-drop-signs | filecheck %s

/// Arithmetic is signless and its ops say the sign; memory keeps its type. Values between ops are not cast twice.
// CHECK-LABEL: loop.kernel @quotient
//       CHECK:   %[[C:.+]] = arith.constant -56 : i8
//       CHECK:   %[[V:.+]] = loop.load %x[%i] : memref<9xui8>
//  CHECK-NEXT:   %[[S:.+]] = builtin.unrealized_conversion_cast %[[V]] : ui8 to i8
//  CHECK-NEXT:   %[[Q:.+]] = arith.divui %[[S]], %[[C]] : i8
//  CHECK-NEXT:   %[[L:.+]] = arith.cmpi ult, %[[Q]], %[[S]] : i8
//  CHECK-NEXT:   %[[M:.+]] = arith.select %[[L]], %[[Q]], %[[S]] : i8
//  CHECK-NEXT:   %[[U:.+]] = builtin.unrealized_conversion_cast %[[M]] : i8 to ui8
//  CHECK-NEXT:   loop.store %[[U]], %y[%i] : memref<9xui8>
loop.kernel @quotient(%x: memref<9xui8>, %y: memref<9xui8>) {
  %c = arith.constant 200 : ui8
  loop.for seq %i = 0 to 9 {
    %v = loop.load %x[%i] : memref<9xui8>
    %q = arith.divui %v, %c : ui8
    %l = arith.cmpi ult, %q, %v : ui8
    %m = arith.select %l, %q, %v : ui8
    loop.store %m, %y[%i] : memref<9xui8>
  }
}

/// A cast between signs alone is none any more, one to floats is.
// CHECK-LABEL: loop.kernel @bits
//       CHECK:   %[[V:.+]] = loop.load %x[%i] : memref<9xi32>
//  CHECK-NEXT:   %[[F:.+]] = arith.uitofp %[[V]] : i32 to f32
//  CHECK-NEXT:   %[[B:.+]] = arith.bitcast %[[V]] : i32 to f32
//  CHECK-NEXT:   arith.addf %[[F]], %[[B]] : f32
loop.kernel @bits(%x: memref<9xi32>, %y: memref<9xf32>) {
  loop.for seq %i = 0 to 9 {
    %v = loop.load %x[%i] : memref<9xi32>
    %u = arith.bitcast %v : i32 to ui32
    %f = arith.uitofp %u : ui32 to f32
    %b = arith.bitcast %u : ui32 to f32
    %s = arith.addf %f, %b : f32
    loop.store %s, %y[%i] : memref<9xf32>
  }
}

/// A loop that reduces reads the sign from its type, which stays.
// CHECK-LABEL: loop.kernel @most
//       CHECK:   loop.for reduce<max> %i = 0 to 9 init %{{.+}} : ui16 {
//       CHECK:     %[[S:.+]] = arith.shrui
//  CHECK-NEXT:     %[[U:.+]] = builtin.unrealized_conversion_cast %[[S]] : i16 to ui16
//  CHECK-NEXT:     loop.yield %[[U]] : ui16
loop.kernel @most(%x: memref<9xui16>, %y: memref<ui16>) {
  %c = arith.constant 1 : ui16
  %m = loop.for reduce<max> %i = 0 to 9 init %c : ui16 {
    %v = loop.load %x[%i] : memref<9xui16>
    %s = arith.shrui %v, %c : ui16
    loop.yield %s : ui16
  }
  loop.store %m, %y[] : memref<ui16>
}

/// Signed integers and moves of unsigned ones need nothing.
// CHECK-LABEL: loop.kernel @no_arithmetic
//   CHECK-NOT:   unrealized
loop.kernel @no_arithmetic(%x: memref<9xui8>, %y: memref<9xui8>, %z: memref<9xi8>) {
  loop.for seq %i = 0 to 9 {
    %v = loop.load %x[%i] : memref<9xui8>
    loop.store %v, %y[%i] : memref<9xui8>
    %w = loop.load %z[%i] : memref<9xi8>
    %n = arith.addi %w, %w : i8
    loop.store %n, %z[%i] : memref<9xi8>
  }
}
