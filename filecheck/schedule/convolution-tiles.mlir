// RUN: lamina-opt %s -p 'loop-auto' | filecheck %s

/// Rows of a register buffer become vectors, unrolled: all its subscripts are numbers.

program.func @main(%x: memref<8xf32>) -> (%y: memref<32xf32>) {
  loop.launch @tile(%x, %y) : (memref<8xf32>, memref<32xf32>)
}

// CHECK-LABEL: loop.kernel @tile
//       CHECK:   loop.for unroll %j = 0 to 2
//       CHECK:     loop.for unroll %{{.*}} step
//       CHECK:       loop.store {{.*}} vector<
loop.kernel @tile(%x: memref<8xf32>, %y: memref<32xf32>) {
  loop.for seq %i = 0 to 8 {
    %t = loop.alloc register : memref<2x16xf32>
    %a = loop.load %x[%i] : memref<8xf32>
    loop.for unroll %j = 0 to 2 {
      loop.for parallel %k = 0 to 16 {
        loop.store %a, %t[%j, %k] : memref<2x16xf32>
      }
    }
    loop.for unroll %l = 0 to 2 {
      loop.for parallel %m = 0 to 16 {
        %b = loop.load %t[%l, %m] : memref<2x16xf32>
        loop.store %b, %y[%l * 16 + %m] : memref<32xf32>
      }
    }
  }
}
