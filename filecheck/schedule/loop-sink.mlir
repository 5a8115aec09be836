// RUN: lamina-opt %s -p 'loop-sink{loop=k}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-sink{loop=k}' --split-input-file 2>/dev/null | filecheck %s

// The scale of a column moves into the sum with its load and its arithmetic; the root is also needed after it and stays.

// CHECK-LABEL: loop.kernel @scaled
// CHECK: loop.for parallel %j = 0 to 64 {
// CHECK-NEXT: %r = math.sqrt
// CHECK-NEXT: %t = loop.for reduce<add> %k = 0 to 256 init %zero : f32 {
// CHECK-NEXT: %a = loop.load %s[%j]
// CHECK-NEXT: %h = arith.mulf %a, %a : f32
// CHECK-NEXT: %r_1 = math.sqrt %two : f32
loop.kernel @scaled(%x: memref<256x64xf32>, %s: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  loop.for parallel %j = 0 to 64 {
    %a = loop.load %s[%j] : memref<64xf32>
    %h = arith.mulf %a, %a : f32
    %r = math.sqrt %two : f32
    %t = loop.for reduce<add> %k = 0 to 256 init %zero : f32 {
      %b = loop.load %x[%k, %j] : memref<256x64xf32>
      %c = arith.mulf %b, %h : f32
      %d = arith.addf %c, %r : f32
      loop.yield %d : f32
    }
    %e = arith.addf %t, %r : f32
    loop.store %e, %y[%j] : memref<64xf32>
  }
}

// -----

// What the loop itself changes is not the same in every iteration.

// expected-error@+4 {{k uses no arithmetic or load of unwritten memory that stands before it in its body}}
loop.kernel @no_memory_that_is_written(%y: memref<64xf32>) {
  loop.for seq %j = 0 to 64 {
    %a = loop.load %y[%j] : memref<64xf32>
    loop.for seq %k = 0 to 4 {
      loop.store %a, %y[%j] : memref<64xf32>
    }
  }
}
