// RUN: lamina-opt %s %validate -p 'loop-ungroup{kernel=sum loop=i},loop-ungroup{kernel=chain loop=i},loop-ungroup{kernel=terms loop=i}' | filecheck %s
// RUN: not lamina-opt %s -p 'loop-ungroup{kernel=sum loop=j}' 2>&1 | filecheck %s --check-prefix=FLAT
// RUN: not lamina-opt %s -p 'loop-ungroup{kernel=no_chain loop=i}' 2>&1 | filecheck %s --check-prefix=CHAIN
// RUN: not lamina-opt %s -p 'loop-ungroup{kernel=no_same_monoid loop=i}' 2>&1 | filecheck %s --check-prefix=MONOID
// RUN: not lamina-opt %s -p 'loop-ungroup{kernel=no_reduction loop=i}' 2>&1 | filecheck %s --check-prefix=KIND
// RUN: not lamina-opt %s -p 'loop-ungroup{kernel=no_other_use loop=i}' 2>&1 | filecheck %s --check-prefix=USE

// CHECK-LABEL: loop.kernel @sum
// CHECK: %{{.*}} = loop.for seq %i = 0 to 3 carry [[SO_FAR:%.*]] = %start : f32 {
// CHECK-NEXT: [[NEXT:%.*]] = loop.for reduce<add> %j = 0 to 5 init [[SO_FAR]] : f32 {
// CHECK: loop.yield [[NEXT]] : f32
// FLAT: loop-ungroup{kernel=sum loop=j}: j does not yield what a reduce<add> inside results in
loop.kernel @sum(%x: memref<3x5xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %start = loop.load %y[0] : memref<1xf32>
  %s = loop.for reduce<add> %i = 0 to 3 init %start : f32 {
    %t = loop.for reduce<add> %j = 0 to 5 init %zero : f32 {
      %a = loop.load %x[%i, %j] : memref<3x5xf32>
      loop.yield %a : f32
    }
    loop.yield %t : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

/// The first of several reductions that go on from one another.
// CHECK-LABEL: loop.kernel @chain
// CHECK: loop.for seq %i = 0 to 3 carry [[SO_FAR:%.*]] = %low : i32 {
// CHECK-NEXT: [[FIRST:%.*]] = loop.for reduce<max> %j = 0 to 2 init [[SO_FAR]] : i32 {
// CHECK: [[SECOND:%.*]] = loop.for reduce<max> %k = 2 to 5 init [[FIRST]] : i32 {
// CHECK: loop.yield [[SECOND]] : i32
loop.kernel @chain(%x: memref<3x5xi32>, %y: memref<1xi32>) {
  %low = arith.constant -2147483648 : i32
  %s = loop.for reduce<max> %i = 0 to 3 init %low : i32 {
    %t = loop.for reduce<max> %j = 0 to 2 init %low : i32 {
      %a = loop.load %x[%i, %j] : memref<3x5xi32>
      loop.yield %a : i32
    }
    %u = loop.for reduce<max> %k = 2 to 5 init %t : i32 {
      %a = loop.load %x[%i, %k] : memref<3x5xi32>
      loop.yield %a : i32
    }
    loop.yield %u : i32
  }
  loop.store %s, %y[0] : memref<1xi32>
}

// MONOID: loop-ungroup{kernel=no_same_monoid loop=i}: i does not yield what a reduce<max> inside results in
loop.kernel @no_same_monoid(%x: memref<3x5xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<max> %i = 0 to 3 init %zero : f32 {
    %t = loop.for reduce<add> %j = 0 to 5 init %zero : f32 {
      %a = loop.load %x[%i, %j] : memref<3x5xf32>
      loop.yield %a : f32
    }
    loop.yield %t : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

// KIND: loop-ungroup{kernel=no_reduction loop=i}: i is no reduction of one value
loop.kernel @no_reduction(%y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 4 {
    loop.store %zero, %y[%i] : memref<4xf32>
  }
}

/// The sum of a row is stored, too.
// USE: loop-ungroup{kernel=no_other_use loop=i}: i yields not all that j results in, or uses it before
loop.kernel @no_other_use(%x: memref<3x5xf32>, %y: memref<1xf32>, %z: memref<3xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to 3 init %zero : f32 {
    %t = loop.for reduce<add> %j = 0 to 5 init %zero : f32 {
      %a = loop.load %x[%i, %j] : memref<3x5xf32>
      loop.yield %a : f32
    }
    loop.store %t, %z[%i] : memref<3xf32>
    loop.yield %t : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

/// Single terms are added to what reductions result in.
// CHECK-LABEL: loop.kernel @terms
// CHECK: loop.for seq %i = 0 to 3 carry [[SO_FAR:%.*]] = %zero : f32 {
// CHECK-NEXT: [[FIRST:%.*]] = loop.for reduce<add> %j = 0 to 4 init [[SO_FAR]] : f32 {
// CHECK: [[SECOND:%.*]] = arith.addf [[FIRST]], %b : f32
// CHECK-NEXT: loop.yield [[SECOND]] : f32
loop.kernel @terms(%x: memref<3x5xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to 3 init %zero : f32 {
    %t = loop.for reduce<add> %j = 0 to 4 init %zero : f32 {
      %a = loop.load %x[%i, %j] : memref<3x5xf32>
      loop.yield %a : f32
    }
    %b = loop.load %x[%i, 4] : memref<3x5xf32>
    %u = arith.addf %t, %b : f32
    loop.yield %u : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

/// The sum of a row is added to a term, which is no sum.
// CHAIN: loop-ungroup{kernel=no_chain loop=i}: i does not yield what a reduce<add> inside results in
loop.kernel @no_chain(%x: memref<3x5xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to 3 init %zero : f32 {
    %t = loop.for reduce<add> %j = 0 to 4 init %zero : f32 {
      %a = loop.load %x[%i, %j] : memref<3x5xf32>
      loop.yield %a : f32
    }
    %b = loop.load %x[%i, 4] : memref<3x5xf32>
    %u = arith.addf %b, %t : f32
    loop.yield %u : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}
