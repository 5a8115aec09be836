// RUN: lamina-opt %s -p check-bounds --split-input-file | filecheck %s

/// Proved whatever the data is: bounds of loops, masks, clamped indices, conditions.
// CHECK-LABEL: loop.kernel @no_check
//   CHECK-NOT: loop.check
//       CHECK: loop.gather
//   CHECK-NOT: loop.check
//       CHECK: }
loop.kernel @no_check(%x: memref<?xf32>, %at: memref<?xi64>, %t: memref<9x4xf32>, %N: index) shapes(%x[%N], %at[%N]) {
  %zero = arith.constant 0 : index
  %last = arith.constant 8 : index
  loop.for vector %i = 0 to %N step 8 {
    %left = arith.subi %N, %i : index
    %m = vector.create_mask %left : vector<8xi1>
    %a = loop.load %x[%i] mask %m : memref<?xf32>, vector<8xf32>
    loop.store %a, %x[%i] mask %m : memref<?xf32>, vector<8xf32>
  }
  loop.for seq %i = 0 to %N {
    %k = loop.load %at[%i] : memref<?xi64>
    %p = arith.index_cast %k : i64 to index
    %some = arith.maxsi %p, %zero : index
    %row = arith.minsi %some, %last : index
    %a = loop.load %t[%row, 3] : memref<9x4xf32>
    %ok = arith.cmpi ult, %p, %N : index
    loop.if %ok {
      loop.store %a, %x[%p] : memref<?xf32>
    }
    %every = vector.broadcast %row : index to vector<4xindex>
    %lane = vector.step : vector<4xindex>
    %g = loop.gather %t[%every, %lane] : memref<9x4xf32>, vector<4xf32> at (vector<4xindex>, vector<4xindex>)
  }
}

// -----

/// What data decides is checked when it runs.
// CHECK-LABEL: loop.kernel @check
//  CHECK-SAME: checks("dim 0 of x {{.*}}")
//       CHECK: %[[P:.+]] = arith.index_cast
//       CHECK: %[[BELOW:.+]] = arith.cmpi slt, %[[P]], %{{.+}} : index
//       CHECK: %[[INSIDE:.+]] = arith.cmpi slt, %[[P]], %N : index
//       CHECK: %[[OK:.+]] = arith.andi %{{.+}}, %[[INSIDE]] : i1
//       CHECK: loop.check %[[OK]], %{{.+}}, 1
//  CHECK-NEXT: loop.load %x[%[[P]]]
loop.kernel @check(%x: memref<?xf32>, %at: memref<?xi64>, %y: memref<?xf32>, %N: index, %M: index)
    shapes(%x[%N], %at[%M], %y[%M]) {
  loop.for seq %i = 0 to %M {
    %k = loop.load %at[%i] : memref<?xi64>
    %p = arith.index_cast %k : i64 to index
    %a = loop.load %x[%p] : memref<?xf32>
    loop.store %a, %y[%i] : memref<?xf32>
  }
}

// -----

/// Text with its checks is proved by them.
// CHECK-LABEL: loop.kernel @checked
// CHECK-COUNT-1: loop.check
//   CHECK-NOT: loop.check
loop.kernel @checked(%x: memref<8xf32>, %at: memref<4xi64>) checks("dim 0 of x") {
  %size = arith.constant 8 : index
  loop.for seq %i = 0 to 4 {
    %k = loop.load %at[%i] : memref<4xi64>
    %p = arith.index_cast %k : i64 to index
    %ok = arith.cmpi ult, %p, %size : index
    loop.check %ok, %p, 1
    %a = loop.load %x[%p] : memref<8xf32>
    loop.store %a, %x[%p] : memref<8xf32>
  }
}
