// RUN: lamina-opt %s --target=x86-64-v3 -p loop-auto | filecheck %s

/// What no other strategy takes: in kernels that a program launches, sums may be added in any order.
program.func @main(%x: memref<20xf32>, %s: memref<64xf32>) -> (%a: memref<20xf32>, %b: memref<1xf32>, %c: memref<64xf32>, %e: memref<1xi64>) {
  loop.launch @tail(%x, %a) : (memref<20xf32>, memref<20xf32>)
  loop.launch @sum(%s, %b) : (memref<64xf32>, memref<1xf32>)
  loop.launch @argmax(%s, %e) : (memref<64xf32>, memref<1xi64>)
  loop.launch @no_carried(%s, %c) : (memref<64xf32>, memref<64xf32>)
}

/// Full vectors, then what remains once under a mask.
// CHECK-LABEL: loop.kernel @tail
//       CHECK:   %[[M:.+]] = arith.constant dense<[true, true, true, true, false, false, false, false, {{.*}}]> : vector<16xi1>
//       CHECK:   loop.for vector %i = 0 to 16 step 16 {
//  CHECK-NEXT:     loop.load %x[%i] : memref<20xf32>, vector<16xf32>
//       CHECK:   loop.for vector %{{.*}} = 16 to 32 step 16 {
//  CHECK-NEXT:     loop.load %x[%{{.*}}] mask %[[M]] : memref<20xf32>, vector<16xf32>
//       CHECK:     loop.store %{{.*}}, %y[%{{.*}}] mask %[[M]]
loop.kernel @tail(%x: memref<20xf32>, %y: memref<20xf32>) {
  loop.for parallel %i = 0 to 20 {
    %a = loop.load %x[%i] : memref<20xf32>
    %b = arith.mulf %a, %a : f32
    loop.store %b, %y[%i] : memref<20xf32>
  }
}

/// A sum keeps a vector of partial sums, combined at the end in a fixed tree.
// CHECK-LABEL: loop.kernel @sum
//       CHECK:   %[[P:.+]] = loop.for reduce<add> %i = 0 to 64 step 32 init %{{.*}} : vector<32xf32> {
//       CHECK:   %[[S:.+]] = loop.reduce_lanes<add> %[[P]] : vector<32xf32>
//       CHECK:   loop.store %[[S]], %y[0]
loop.kernel @sum(%x: memref<64xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to 64 init %zero : f32 {
    %a = loop.load %x[%i] : memref<64xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

/// Positions go with their values: both results of an argmax are vectors.
// CHECK-LABEL: loop.kernel @argmax
//       CHECK:   loop.for reduce<argmax> %i = 0 to 64 step {{.*}} init %{{.*}} : vector<{{.*}}xf32>, %{{.*}} : vector<{{.*}}xi64> {
//       CHECK:     vector.step
//       CHECK:   loop.reduce_lanes<argmax>
loop.kernel @argmax(%x: memref<64xf32>, %y: memref<1xi64>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %v, %at = loop.for reduce<argmax> %i = 0 to 64 init %low : f32, %zero : i64 {
    %a = loop.load %x[%i] : memref<64xf32>
    %k = arith.index_cast %i : index to i64
    loop.yield %a, %k : f32, i64
  }
  loop.store %at, %y[0] : memref<1xi64>
}

/// A loop that carries a value from one iteration to the next stays as it is.
// CHECK-LABEL: loop.kernel @no_carried
//       CHECK:   loop.for seq %i = 0 to 64 carry
//   CHECK-NOT:   vector
loop.kernel @no_carried(%x: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for seq %i = 0 to 64 carry %acc = %zero : f32 {
    %a = loop.load %x[%i] : memref<64xf32>
    %b = arith.addf %acc, %a : f32
    loop.store %b, %y[%i] : memref<64xf32>
    loop.yield %b : f32
  }
}
