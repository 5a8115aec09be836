// RUN: lamina-opt %s --target=x86-64-v3 -p loop-auto | filecheck %s

/// Small problems that take the same steps on local buffers lie in the lanes of vectors.
program.func @main(%x: memref<20x8x8xf32>, %y: memref<20x8x8xf32>) -> (%a: memref<20x8x8xf32>, %b: memref<20x8x8xf32>) {
  loop.launch @powers(%x, %a) : (memref<20x8x8xf32>, memref<20x8x8xf32>)
  loop.launch @no_lockstep(%y, %b) : (memref<20x8x8xf32>, memref<20x8x8xf32>)
}

/// Buffers have the problems as their last dim and an odd number of vectors a row; copies transpose squares; threads share the
/// stack, not the steps; the last problems fill their vector with others.
// CHECK-LABEL: loop.kernel @powers
//       CHECK:   loop.for parallel %[[B:.+]] = 0 to 16 step 8
//       CHECK:     %[[G:.+]] = loop.alloc scratch : memref<8x9x8xf32>
//       CHECK:     loop.for unroll %{{.*}} = 0 to 8
//  CHECK-NEXT:       loop.load %x{{.*}} along 0 : memref<20x8x8xf32>, vector<8xf32>
//       CHECK:     loop.for vector %[[L:.+]] = 0 to 8 step 8 {
//  CHECK-NEXT:       loop.for seq %[[K:.+]] = 1 to 8 {
//  CHECK-NEXT:         loop.for seq %[[J:.+]] = 0 to 8 {
//  CHECK-NEXT:           loop.load %[[G]][%[[K]] - 1, %[[J]], %[[L]]] : memref<8x9x8xf32>, vector<8xf32>
//       CHECK:     loop.for unroll %{{.*}} = 0 to 8
//       CHECK:       loop.store %{{.*}}, %y{{.*}} vector<8xf32>
//       CHECK:   loop.for parallel %{{.*}} = 16 to 20 step 8
//       CHECK:     loop.for vector %{{.*}} = 0 to 8 step 8
//   CHECK-NOT:     mask
//       CHECK:     loop.for unroll
loop.kernel @powers(%x: memref<20x8x8xf32>, %y: memref<20x8x8xf32>) {
  loop.for parallel %i = 0 to 20 {
    %t = loop.alloc scratch : memref<8x8xf32>
    loop.for parallel %r = 0 to 8 {
      loop.for parallel %c = 0 to 8 {
        %v = loop.load %x[%i, %r, %c] : memref<20x8x8xf32>
        loop.store %v, %t[%r, %c] : memref<8x8xf32>
      }
    }
    loop.for seq %k = 1 to 8 {
      loop.for parallel %j = 0 to 8 {
        %v = loop.load %t[%k - 1, %j] : memref<8x8xf32>
        %w = loop.load %t[%k, %j] : memref<8x8xf32>
        %p = arith.mulf %v, %w : f32
        loop.store %p, %t[%k, %j] : memref<8x8xf32>
      }
    }
    loop.for parallel %r2 = 0 to 8 {
      loop.for parallel %c2 = 0 to 8 {
        %v = loop.load %t[%r2, %c2] : memref<8x8xf32>
        loop.store %v, %y[%i, %r2, %c2] : memref<20x8x8xf32>
      }
    }
  }
}

/// Where the data says how many steps there are, each problem is solved by itself.
// CHECK-LABEL: loop.kernel @no_lockstep
//       CHECK:   loop.alloc scratch : memref<8x8xf32>
loop.kernel @no_lockstep(%x: memref<20x8x8xf32>, %y: memref<20x8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 20 {
    %t = loop.alloc scratch : memref<8x8xf32>
    loop.for parallel %r = 0 to 8 {
      loop.for parallel %c = 0 to 8 {
        %v = loop.load %x[%i, %r, %c] : memref<20x8x8xf32>
        loop.store %v, %t[%r, %c] : memref<8x8xf32>
      }
    }
    loop.for seq %k = 1 to 8 {
      %v = loop.load %t[%k - 1, 0] : memref<8x8xf32>
      %is = arith.cmpf ogt, %v, %zero : f32
      loop.if %is {
        loop.store %v, %t[%k, 0] : memref<8x8xf32>
      }
    }
    loop.for parallel %r2 = 0 to 8 {
      loop.for parallel %c2 = 0 to 8 {
        %v = loop.load %t[%r2, %c2] : memref<8x8xf32>
        loop.store %v, %y[%i, %r2, %c2] : memref<20x8x8xf32>
      }
    }
  }
}
