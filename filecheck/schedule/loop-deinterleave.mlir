// RUN: lamina-opt %s %validate -p 'loop-deinterleave{kernel=copy loop=i ways=2},loop-deinterleave{kernel=sum loop=k ways=3}' | filecheck %s
// RUN: not lamina-opt %s -p 'loop-deinterleave{kernel=copy loop=i ways=8}' 2>&1 | filecheck %s --check-prefix=WAYS
// RUN: not lamina-opt %s -p 'loop-deinterleave{kernel=no_order loop=i ways=2}' 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: not lamina-opt %s -p 'loop-deinterleave{kernel=no_carried loop=i ways=2}' 2>&1 | filecheck %s --check-prefix=CARRIED
// RUN: not lamina-opt %s -p 'loop-deinterleave{kernel=no_bounds loop=i ways=2}' 2>&1 | filecheck %s --check-prefix=BOUNDS

/// The first, third ... iteration; then the second, fourth ..., of which there is one less.
// CHECK-LABEL: loop.kernel @copy
// CHECK: loop.for parallel %i = 0 to 4 {
// CHECK:   loop.load %x[%i * 2 + 1] : memref<8xf32>
// CHECK:   loop.store %{{.*}}, %y[%i * 2 + 1] : memref<8xf32>
// CHECK: loop.for parallel %i2 = 0 to 3 {
// CHECK:   loop.load %x[%i2 * 2 + 2] : memref<8xf32>
// CHECK:   loop.store %{{.*}}, %y[%i2 * 2 + 2] : memref<8xf32>
// WAYS: loop-deinterleave{kernel=copy loop=i ways=8}: ways must be 2 or more and at most the 7 iterations of i, got 8
loop.kernel @copy(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.for parallel %i = 1 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.store %a, %y[%i] : memref<8xf32>
  }
}

/// A reduction goes on from one loop to the next; what it starts from and results in stays.
// CHECK-LABEL: loop.kernel @sum
// CHECK: [[A:%.*]] = loop.for reduce<add> %k = 0 to 2 init %zero : f32 {
// CHECK:   loop.load %x[%k * 6] : memref<10xf32>
// CHECK: [[B:%.*]] = loop.for reduce<add> %k2 = 0 to 2 init [[A]] : f32 {
// CHECK:   loop.load %x[%k2 * 6 + 2] : memref<10xf32>
// CHECK: [[C:%.*]] = loop.for reduce<add> %k3 = 0 to 1 init [[B]] : f32 {
// CHECK:   loop.load %x[%k3 * 6 + 4] : memref<10xf32>
// CHECK: loop.store [[C]], %y[0] : memref<1xf32>
loop.kernel @sum(%x: memref<10xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %k = 0 to 10 step 2 init %zero : f32 {
    %a = loop.load %x[%k] : memref<10xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

// ORDER: loop-deinterleave{kernel=no_order loop=i ways=2}: two dependent iterations would be reordered: iteration i=1 writes x[1] and iteration i=2 reads it
loop.kernel @no_order(%x: memref<8xf32>) {
  loop.for seq %i = 1 to 8 {
    %a = loop.load %x[%i - 1] : memref<8xf32>
    loop.store %a, %x[%i] : memref<8xf32>
  }
}

// CARRIED: loop-deinterleave{kernel=no_carried loop=i ways=2}: the loop carries values whose order matters
loop.kernel @no_carried(%x: memref<8xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for seq %i = 0 to 8 carry %t = %zero : f32 {
    %a = loop.load %x[%i] : memref<8xf32>
    %b = arith.subf %a, %t : f32
    loop.yield %b : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

// BOUNDS: loop-deinterleave{kernel=no_bounds loop=i ways=2}: the loop needs constant bounds
loop.kernel @no_bounds(%N: index, %x: memref<?xf32>) shapes(%x[%N]) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to %N {
    loop.store %zero, %x[%i] : memref<?xf32>
  }
}
