// RUN: lamina-opt %s %validate -p 'loop-expand{kernel=tiles loop=k at=io multiples=4,16}' | filecheck %s
// RUN: not lamina-opt %s -p 'loop-expand{kernel=tiles loop=j at=io}' 2>&1 | filecheck %s --check-prefix=NORESULT
// RUN: not lamina-opt %s -p 'loop-expand{kernel=tiles loop=k at=j}' 2>&1 | filecheck %s --check-prefix=NOLOOP
// RUN: not lamina-opt %s -p 'loop-expand{kernel=no_running loop=k at=r}' 2>&1 | filecheck %s --check-prefix=ORDER

// The sums go to an array with room for whole tiles; the epilogue, and the arithmetic that it needs, follow in a nest of their own.

// CHECK-LABEL: loop.kernel @tiles
// CHECK: loop.for seq %io = 0 to %M step 4 {
// CHECK-NEXT: %k_results = loop.alloc scratch : memref<4x16xf32>
// CHECK-NEXT: loop.for parallel %i = 0 to min(4, %M - %io) {
// CHECK-NEXT: loop.for parallel %j = 0 to 10 {
// CHECK-NEXT: %s = loop.for reduce<add> %k = 0 to 8 init
// CHECK: loop.store %s, %k_results[%i, %j] : memref<4x16xf32>
// CHECK: loop.for parallel %i2 = 0 to min(4, %M - %io) {
// CHECK-NEXT: loop.for parallel %j2 = 0 to 10 {
// CHECK-NEXT: %s_1 = loop.load %k_results[%i2, %j2] : memref<4x16xf32>
// CHECK-NEXT: %b = loop.load %bias[%j2]
// CHECK-NEXT: %t = arith.addf %s_1, %b
// CHECK-NEXT: loop.store %t, %y[%io + %i2, %j2]
// NORESULT: loop-expand{kernel=tiles loop=j at=io}: j has no results
// NOLOOP: loop-expand{kernel=tiles loop=k at=j}: no loop stands between j and k: its results are needed one at a time
loop.kernel @tiles(%x: memref<?x8xf32>, %w: memref<8x10xf32>, %bias: memref<10xf32>, %y: memref<?x10xf32>, %M: index)
    shapes(%x[%M, 8], %y[%M, 10]) {
  %zero = arith.constant 0.0 : f32
  loop.for seq %io = 0 to %M step 4 {
    loop.for parallel %i = 0 to min(4, %M - %io) {
      loop.for parallel %j = 0 to 10 {
        %b = loop.load %bias[%j] : memref<10xf32>
        %s = loop.for reduce<add> %k = 0 to 8 init %zero : f32 {
          %a = loop.load %x[%io + %i, %k] : memref<?x8xf32>
          %c = loop.load %w[%k, %j] : memref<8x10xf32>
          %p = arith.mulf %a, %c : f32
          loop.yield %p : f32
        }
        %t = arith.addf %s, %b : f32
        loop.store %t, %y[%io + %i, %j] : memref<?x10xf32>
      }
    }
  }
}

// What a sum stores is read by the next one: the order must stay.

// ORDER: loop-expand{kernel=no_running loop=k at=r}: two dependent iterations would be reordered
loop.kernel @no_running(%x: memref<9xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for seq %r = 0 to 2 {
    loop.for seq %i = 0 to 8 {
      %s = loop.for reduce<add> %k = 0 to 2 init %zero : f32 {
        %a = loop.load %x[%i] : memref<9xf32>
        loop.yield %a : f32
      }
      loop.store %s, %x[%i + 1] : memref<9xf32>
    }
  }
}
