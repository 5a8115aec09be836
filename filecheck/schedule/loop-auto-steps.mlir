// RUN: lamina-opt %s --target=x86-64-v3 -p loop-auto | filecheck %s

/// Products of blocks inside a sequence of steps get register tiles, and sums whose number of terms varies become vectors.
program.func @main(%x: memref<4x64x64xf32>, %y: memref<4x64x64xf32>, %v: memref<256xf32>) -> (%a: memref<4x64x64xf32>, %s: memref<256xf32>, %t: memref<256xf32>) {
  loop.launch @products(%x, %y, %a) : (memref<4x64x64xf32>, memref<4x64x64xf32>, memref<4x64x64xf32>)
  loop.launch @sums(%v, %s) : (memref<256xf32>, memref<256xf32>)
  loop.launch @no_steps(%v, %t) : (memref<256xf32>, memref<256xf32>)
}

// CHECK-LABEL: loop.kernel @products
//       CHECK:   loop.for seq %[[K:.+]] = 0 to 4 {
//       CHECK:     loop.for seq %[[R:.+]] = %[[K]] to 4
//       CHECK:       loop.for vector
//       CHECK:         loop.for reduce<add> %{{.*}} = 0 to 64
//  CHECK-SAME:           vector<16xf32>, {{.*}}vector<16xf32>
loop.kernel @products(%x: memref<4x64x64xf32>, %y: memref<4x64x64xf32>, %a: memref<4x64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for seq %k = 0 to 4 {
    loop.for seq %r = %k to 4 {
      loop.for parallel %i = 0 to 64 {
        loop.for parallel %j = 0 to 64 {
          %sum = loop.for reduce<add> %p = 0 to 64 init %zero : f32 {
            %l = loop.load %x[%r, %i, %p] : memref<4x64x64xf32>
            %u = loop.load %y[%k, %p, %j] : memref<4x64x64xf32>
            %m = arith.mulf %l, %u : f32
            loop.yield %m : f32
          }
          loop.store %sum, %a[%r, %i, %j] : memref<4x64x64xf32>
        }
      }
    }
  }
}

// CHECK-LABEL: loop.kernel @sums
//       CHECK:     loop.for reduce<add> %{{.*}} step 8 {{.*}} vector<8xf32>
loop.kernel @sums(%v: memref<256xf32>, %s: memref<256xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for seq %k = 0 to 256 {
    %sum = loop.for reduce<add> %p = %k to 256 init %zero : f32 {
      %l = loop.load %v[%p] : memref<256xf32>
      loop.yield %l : f32
    }
    loop.store %sum, %s[%k] : memref<256xf32>
  }
}

/// Where iterations are independent, other strategies choose.
// CHECK-LABEL: loop.kernel @no_steps
//   CHECK-NOT:   reduce<add> %{{.*}} vector<8xf32>
loop.kernel @no_steps(%v: memref<256xf32>, %t: memref<256xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %k = 0 to 256 {
    %sum = loop.for reduce<add> %p = %k to 256 init %zero : f32 {
      %l = loop.load %v[%p] : memref<256xf32>
      loop.yield %l : f32
    }
    loop.store %sum, %t[%k] : memref<256xf32>
  }
}
