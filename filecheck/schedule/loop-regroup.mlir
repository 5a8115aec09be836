// RUN: lamina-opt %s %validate -p 'loop-regroup{kernel=sum loop=k size=64},loop-regroup{kernel=goes_on loop=k size=64}' | filecheck %s
// RUN: not lamina-opt %s -p 'loop-regroup{kernel=no_maximum loop=k size=4}' 2>&1 | filecheck %s --check-prefix=MAXIMUM
// RUN: not lamina-opt %s -p 'loop-regroup{kernel=no_integers loop=k size=4}' 2>&1 | filecheck %s --check-prefix=INTEGERS
// RUN: not lamina-opt %s -p 'loop-regroup{kernel=sum loop=i size=4}' 2>&1 | filecheck %s --check-prefix=PARALLEL
// RUN: not lamina-opt %s -p 'loop-regroup{kernel=sum loop=k size=0}' 2>&1 | filecheck %s --check-prefix=SIZE

/// Each group starts from zero; the last one is shorter.
// CHECK-LABEL: loop.kernel @sum
// CHECK: [[ZERO:%.*]] = arith.constant 0.000000e+00 : f32
// CHECK: loop.for seq %ko = 0 to 100 step 64 carry [[ACC:%.*]] = %zero : f32 {
// CHECK-NEXT: [[GROUP:%.*]] = loop.for reduce<add> %ki = 0 to min(64, -%ko + 100) init [[ZERO]] : f32 {
// CHECK: loop.load %x[%i, %ko + %ki] : memref<8x100xf32>
// CHECK: [[TOTAL:%.*]] = arith.addf [[ACC]], [[GROUP]] : f32
// CHECK-NEXT: loop.yield [[TOTAL]] : f32
// PARALLEL: loop-regroup{kernel=sum loop=i size=4}: only the terms of a sum are grouped, i is parallel
// SIZE: loop-regroup{kernel=sum loop=k size=0}: the size must be 1 or more, got 0
loop.kernel @sum(%x: memref<8x100xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 8 {
    %s = loop.for reduce<add> %k = 0 to 100 init %zero : f32 {
      %a = loop.load %x[%i, %k] : memref<8x100xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<8xf32>
  }
}

/// One group: what the sum started from is added to it.
// CHECK-LABEL: loop.kernel @goes_on
// CHECK: [[ZERO:%.*]] = arith.constant 0.000000e+00 : f32
// CHECK: [[START:%.*]] = loop.load %y[0] : memref<1xf32>
// CHECK: [[GROUP:%.*]] = loop.for reduce<add> %k = 0 to 16 init [[ZERO]] : f32 {
// CHECK: [[TOTAL:%.*]] = arith.addf [[START]], [[GROUP]] : f32
// CHECK-NEXT: loop.store [[TOTAL]], %y[0] : memref<1xf32>
loop.kernel @goes_on(%x: memref<16xf32>, %y: memref<1xf32>) {
  %start = loop.load %y[0] : memref<1xf32>
  %s = loop.for reduce<add> %k = 0 to 16 init %start : f32 {
    %a = loop.load %x[%k] : memref<16xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

// MAXIMUM: loop-regroup{kernel=no_maximum loop=k size=4}: only the terms of a sum are grouped, k is reduce<max>
loop.kernel @no_maximum(%x: memref<16xf32>, %y: memref<1xf32>) {
  %start = arith.constant 0.0 : f32
  %s = loop.for reduce<max> %k = 0 to 16 init %start : f32 {
    %a = loop.load %x[%k] : memref<16xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

// INTEGERS: loop-regroup{kernel=no_integers loop=k size=4}: k adds integers, whose order does not matter
loop.kernel @no_integers(%x: memref<16xi32>, %y: memref<1xi32>) {
  %start = arith.constant 0 : i32
  %s = loop.for reduce<add> %k = 0 to 16 init %start : i32 {
    %a = loop.load %x[%k] : memref<16xi32>
    loop.yield %a : i32
  }
  loop.store %s, %y[0] : memref<1xi32>
}
