// RUN: lamina-opt %s %validate -p 'loop-rfactor{loop=i size=64}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-rfactor{loop=i size=64}' --split-input-file 2>/dev/null | filecheck %s
// RUN: lamina-opt %S/Inputs/columns.mlir -p 'loop-rfactor{loop=i size=64 at=j}' | filecheck %s --check-prefix=AT

/// Parts start from nothing, what combines them from what there was.
// CHECK-LABEL: loop.kernel @sum
//   CHECK-DAG:   %z = arith.constant 1.000000e+00
//   CHECK-DAG:   %[[ZERO:.+]] = arith.constant 0.000000e+00
//       CHECK:   %i_parts = loop.alloc scratch : memref<4xf32>
//  CHECK-NEXT:   loop.for parallel %io = 0 to 4 {
//  CHECK-NEXT:     %[[PART:.+]] = loop.for reduce<add> %ii = 0 to 64 init %[[ZERO]]
//  CHECK-NEXT:       loop.load %x[%io * 64 + %ii]
//       CHECK:     loop.store %[[PART]], %i_parts[%io]
//       CHECK:   %[[S:.+]] = loop.for reduce<add> %i = 0 to 4 init %z
//  CHECK-NEXT:     loop.load %i_parts[%i]
//       CHECK:   loop.store %[[S]], %y[]
loop.kernel @sum(%x: memref<256xf32>, %y: memref<f32>) {
  %z = arith.constant 1.0 : f32
  %s = loop.for reduce<add> %i = 0 to 256 init %z : f32 {
    %a = loop.load %x[%i] : memref<256xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[] : memref<f32>
}

// -----

/// With `at` the parts are reduced before that loop, with what they need of its body.
// AT-LABEL: loop.kernel @columns
//       AT:   %i_parts = loop.alloc scratch : memref<4x8xf32>
//  AT-NEXT:   loop.for parallel %io = 0 to 4 {
//  AT-NEXT:     loop.for parallel %j2 = 0 to 8 {
//  AT-NEXT:       %[[M:.+]] = loop.load %m[%j2]
//  AT-NEXT:       loop.for reduce<add> %ii = 0 to 64
//  AT-NEXT:         loop.load %x[%io * 64 + %ii, %j2]
//  AT-NEXT:         arith.subf %{{.+}}, %[[M]]
//       AT:       loop.store %{{.+}}, %i_parts[%io, %j2]
//       AT:   loop.for parallel %j = 0 to 8 {
//       AT:     loop.for reduce<add> %i = 0 to 4
//  AT-NEXT:       loop.load %i_parts[%i, %j]

/// What fills no part would be lost.
// expected-error@+3 {{100 iterations of i are not several parts of 64: peel the rest first}}
loop.kernel @no_rest(%x: memref<100xf32>, %y: memref<f32>) {
  %z = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to 100 init %z : f32 {
    %a = loop.load %x[%i] : memref<100xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[] : memref<f32>
}

// -----

/// A loop that is no reduction combines nothing.
// expected-error@+3 {{only a reduce loop has parts to combine, i is parallel}}
loop.kernel @no_reduction(%x: memref<128xf32>) {
  %z = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 128 {
    loop.store %z, %x[%i] : memref<128xf32>
  }
}
