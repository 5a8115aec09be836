// RUN: lamina-opt %s %validate -p 'loop-coalesce{kernel=rows outer=i inner=j},loop-coalesce{kernel=bounds outer=i inner=j}' | filecheck %s
// RUN: not lamina-opt %s -p 'loop-coalesce{kernel=no_nest outer=i inner=j}' 2>&1 | filecheck %s --check-prefix=NEST
// RUN: not lamina-opt %s -p 'loop-coalesce{kernel=no_kind outer=i inner=j}' 2>&1 | filecheck %s --check-prefix=KIND
// RUN: not lamina-opt %s -p 'loop-coalesce{kernel=no_bounds outer=i inner=j}' 2>&1 | filecheck %s --check-prefix=BOUNDS
// RUN: not lamina-opt %s -p 'loop-coalesce{kernel=no_value outer=i inner=j}' 2>&1 | filecheck %s --check-prefix=VALUE

/// What counts both loops in order is the new index.
// CHECK-LABEL: loop.kernel @rows
// CHECK: loop.for parallel %i = 0 to 12 {
// CHECK-NEXT: %a = loop.load %x[%i + 1] : memref<13xf32>
// CHECK-NEXT: loop.store %a, %y[%i floordiv 4, %i mod 4] : memref<3x4xf32>
loop.kernel @rows(%x: memref<13xf32>, %y: memref<3x4xf32>) {
  loop.for parallel %i = 0 to 3 {
    loop.for parallel %j = 0 to 4 {
      %a = loop.load %x[%i * 4 + %j + 1] : memref<13xf32>
      loop.store %a, %y[%i, %j] : memref<3x4xf32>
    }
  }
}

/// In bounds, and where they do not count in order, both are computed.
// CHECK-LABEL: loop.kernel @bounds
// CHECK: loop.for seq %i = 0 to 6 {
// CHECK-NEXT: loop.for seq %k = %i mod 2 to (%i floordiv 2) + 4 {
// CHECK-NEXT: %a = loop.load %x[(((%i floordiv 2) * 4) + (%i mod 2)) + %k] : memref<16xf32>
loop.kernel @bounds(%x: memref<16xf32>, %y: memref<8xf32>) {
  loop.for seq %i = 0 to 3 {
    loop.for seq %j = 0 to 2 {
      loop.for seq %k = %j to %i + 4 {
        %a = loop.load %x[%i * 4 + %j + %k] : memref<16xf32>
        loop.store %a, %y[%k] : memref<8xf32>
      }
    }
  }
}

// NEST: loop-coalesce{kernel=no_nest outer=i inner=j}: the loops are not perfectly nested: the body of i is not just one loop, it also has 'loop.store'
loop.kernel @no_nest(%x: memref<3xf32>, %y: memref<3x4xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 3 {
    loop.store %zero, %x[%i] : memref<3xf32>
    loop.for parallel %j = 0 to 4 {
      loop.store %zero, %y[%i, %j] : memref<3x4xf32>
    }
  }
}

// KIND: loop-coalesce{kernel=no_kind outer=i inner=j}: i is seq, j parallel
loop.kernel @no_kind(%y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for seq %i = 0 to 3 {
    loop.for parallel %j = 0 to 4 {
      loop.store %zero, %y[%j] : memref<4xf32>
    }
  }
}

// BOUNDS: loop-coalesce{kernel=no_bounds outer=i inner=j}: j does not run from 0 to a number with step 1
loop.kernel @no_bounds(%y: memref<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 4 {
    loop.for parallel %j = 0 to %i {
      loop.store %zero, %y[%i, %j] : memref<4x4xf32>
    }
  }
}

// VALUE: loop-coalesce{kernel=no_value outer=i inner=j}: i is used by 'arith.index_cast'
loop.kernel @no_value(%y: memref<4x4xi64>) {
  loop.for parallel %i = 0 to 4 {
    loop.for parallel %j = 0 to 4 {
      %a = arith.index_cast %i : index to i64
      loop.store %a, %y[%i, %j] : memref<4x4xi64>
    }
  }
}
