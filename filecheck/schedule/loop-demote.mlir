// RUN: lamina-opt %s %validate -p 'loop-split{kernel=sum loop=k size=4},loop-demote{kernel=sum loop=ko}' | filecheck %s
// RUN: not lamina-opt %s -p 'loop-demote{kernel=sum loop=k}' 2>&1 | filecheck %s --check-prefix=REDUCE
// RUN: not lamina-opt %s -p 'loop-demote{kernel=no_used_twice loop=k}' 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not lamina-opt %s -p 'loop-demote{kernel=no_reads_it loop=k}' 2>&1 | filecheck %s --check-prefix=READS

// The sum so far stands where the whole sum goes.

// CHECK-LABEL: loop.kernel @sum
// CHECK: loop.for parallel %i = 0 to 8 {
// CHECK-NEXT: loop.store %zero, %y[%i] : memref<8xf32>
// CHECK-NEXT: loop.for seq %ko = 0 to 16 step 4 {
// CHECK-NEXT: [[ACC:%.*]] = loop.load %y[%i] : memref<8xf32>
// CHECK-NEXT: [[SUM:%.*]] = loop.for reduce<add> %ki = 0 to 4 init [[ACC]] : f32 {
// CHECK: loop.store [[SUM]], %y[%i] : memref<8xf32>
// REDUCE: loop-demote{kernel=sum loop=k}: k is no seq loop that carries values: split it first
loop.kernel @sum(%x: memref<8x16xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 8 {
    %s = loop.for reduce<add> %k = 0 to 16 init %zero : f32 {
      %a = loop.load %x[%i, %k] : memref<8x16xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%i] : memref<8xf32>
  }
}

// TWICE: loop-demote{kernel=no_used_twice loop=k}: %s is not just stored after k
loop.kernel @no_used_twice(%x: memref<16xf32>, %y: memref<2xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for seq %k = 0 to 16 carry %acc = %zero : f32 {
    %a = loop.load %x[%k] : memref<16xf32>
    %b = arith.addf %acc, %a : f32
    loop.yield %b : f32
  }
  loop.store %s, %y[0] : memref<2xf32>
  loop.store %s, %y[1] : memref<2xf32>
}

// READS: loop-demote{kernel=no_reads_it loop=k}: k accesses y, where it is to keep what it carries
loop.kernel @no_reads_it(%x: memref<16xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for seq %k = 0 to 16 carry %acc = %zero : f32 {
    %a = loop.load %y[0] : memref<1xf32>
    %b = arith.addf %acc, %a : f32
    loop.yield %b : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}
