// RUN: lamina-opt %s --target=x86-64-v3 -p 'loop-auto' | filecheck %s
// RUN: lamina-opt %s --target=x86-64-v3 -p 'loop-auto{verbose=true}' 2>&1 | filecheck %s --check-prefix=STEPS

// A product: packed panels of the right operand, two vectors of columns, six rows at once; four rows are left.

// STEPS: loop-split{loop=j size=16}
// STEPS: loop-reorder{loops=jo,i,ji}
// STEPS: loop-stage{buffer=w at=jo order=k,ji}
// STEPS: loop-vectorize{loop=ji_w lanes=16}
// STEPS: loop-vectorize{loop=ji lanes=16}
// STEPS: loop-unroll-and-jam{loop=i factor=6}
// STEPS: loop-unroll-and-jam{loop=ii_rest factor=4}

// CHECK-LABEL: loop.kernel @product
// CHECK: loop.for parallel %jo = 0 to 32 step 16
// CHECK: %w_packed = loop.alloc scratch : memref<64x16xf32>
// CHECK: loop.for parallel %io = 0 to 60 step 6
// CHECK: loop.for vector %ji = 0 to 16 step 16
// CHECK: %s, %s_1, %s_2, %s_3, %s_4, %s_5 = loop.for reduce<add> %k = 0 to 64 init
loop.kernel @product(%x: memref<64x64xf32>, %w: memref<64x32xf32>, %out: memref<64x32xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 64 {
    loop.for parallel %j = 0 to 32 {
      %s = loop.for reduce<add> %k = 0 to 64 init %zero : f32 {
        %a = loop.load %x[%i, %k] : memref<64x64xf32>
        %b = loop.load %w[%k, %j] : memref<64x32xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %out[%i, %j] : memref<64x32xf32>
    }
  }
}

// What is no product is vectorized.

// CHECK-LABEL: loop.kernel @elementwise
// CHECK: loop.for vector %i = 0 to 64 step 16
loop.kernel @elementwise(%x: memref<64xf32>, %y: memref<64xf32>) {
  loop.for parallel %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    %b = arith.addf %a, %a : f32
    loop.store %b, %y[%i] : memref<64xf32>
  }
}

// Loops in order stay as they are.

// CHECK-LABEL: loop.kernel @no_parallel_loop
// CHECK: loop.for seq %i = 1 to 64
// CHECK-NOT: vector
loop.kernel @no_parallel_loop(%x: memref<64xf32>) {
  loop.for seq %i = 1 to 64 {
    %a = loop.load %x[%i - 1] : memref<64xf32>
    %b = arith.addf %a, %a : f32
    loop.store %b, %x[%i] : memref<64xf32>
  }
}
