// RUN: lamina-opt %s -p 'loop-vectorize{loop=i lanes=8}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-vectorize{loop=i lanes=8}' --split-input-file 2>/dev/null | filecheck %s
// RUN: not lamina-opt %s -p 'loop-vectorize{loop=i lanes=8 tail=scalar}' --split-input-file 2>/dev/null | filecheck %s --check-prefix=SCALAR
// RUN: not lamina-opt %s -p 'loop-vectorize{loop=i lanes=8 tail=predicated}' --split-input-file 2>/dev/null | filecheck %s --check-prefix=PREDICATED

/// Full vectors, then what remains under a mask, one by one, or all under a mask.
// CHECK-LABEL: loop.kernel @square
//       CHECK:   loop.for vector %i = 0 to (%N floordiv 8) * 8 step 8 {
//  CHECK-NEXT:     %[[A:.+]] = loop.load %x[%i] : memref<?xf32>, vector<8xf32>
//  CHECK-NEXT:     %[[B:.+]] = arith.mulf %[[A]], %[[A]] : vector<8xf32>
//  CHECK-NEXT:     loop.store %[[B]], %y[%i] : memref<?xf32>, vector<8xf32>
//  CHECK-NEXT:   }
//  CHECK-NEXT:   loop.for vector %i_rest = (%N floordiv 8) * 8 to %N step 8 {
//  CHECK-NEXT:     %[[N:.+]] = arith.subi %N, %i_rest : index
//  CHECK-NEXT:     %[[M:.+]] = vector.create_mask %[[N]] : vector<8xi1>
//  CHECK-NEXT:     loop.load %x[%i_rest] mask %[[M]] : memref<?xf32>, vector<8xf32>
//       CHECK:     loop.store %{{.*}}, %y[%i_rest] mask %[[M]] : memref<?xf32>, vector<8xf32>
// SCALAR-LABEL: loop.kernel @square
//       SCALAR:   loop.for vector %i = 0 to (%N floordiv 8) * 8 step 8 {
//       SCALAR:   loop.for seq %i_rest = (%N floordiv 8) * 8 to %N {
//  SCALAR-NEXT:     loop.load %x[%i_rest] : memref<?xf32>
// PREDICATED-LABEL: loop.kernel @square
//       PREDICATED:   loop.for vector %i = 0 to %N step 8 {
//  PREDICATED-NEXT:     %[[N:.+]] = arith.subi %N, %i : index
//  PREDICATED-NEXT:     %[[M:.+]] = vector.create_mask %[[N]] : vector<8xi1>
//  PREDICATED-NEXT:     loop.load %x[%i] mask %[[M]] : memref<?xf32>, vector<8xf32>
loop.kernel @square(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  loop.for seq %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    loop.store %b, %y[%i] : memref<?xf32>
  }
}

// -----

/// Nothing remains, whatever `tail` says.
// CHECK-LABEL: loop.kernel @full
//       CHECK:   loop.for vector %i = 0 to 64 step 8 {
//   CHECK-NOT:   mask
// PREDICATED-LABEL: loop.kernel @full
//       PREDICATED:   loop.for vector %i = 0 to 64 step 8 {
//   PREDICATED-NOT:   mask
loop.kernel @full(%x: memref<64xf32>) {
  loop.for parallel %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    %b = arith.addf %a, %a : f32
    loop.store %b, %x[%i] : memref<64xf32>
  }
}

// -----

/// Where the rest of a loop with two bounds starts is no affine expression: it runs under a mask.
// CHECK-LABEL: loop.kernel @two_bounds
// PREDICATED-LABEL: loop.kernel @two_bounds
//       CHECK:   %[[END:.+]] = arith.minsi %N, %{{.*}} : index
//       CHECK:   loop.for vector %i = 0 to min(%N, 100) step 8 {
//       CHECK:     %[[LEFT:.+]] = arith.subi %[[END]], %i : index
//       CHECK:     vector.create_mask %[[LEFT]] : vector<8xi1>
loop.kernel @two_bounds(%x: memref<?xf32>, %N: index) shapes(%x[%N]) {
  loop.for seq %i = 0 to min(%N, 100) {
    %a = loop.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    loop.store %b, %x[%i] : memref<?xf32>
  }
}

// -----

/// Other steps and dims are strides; along several dims, divided or from data, subscripts are vectors.
// CHECK-LABEL: loop.kernel @places
//       CHECK:   loop.for vector %i = 0 to 48 step 24 {
//       CHECK:     loop.load %x[%i] step 3 : memref<48xf32>, vector<8xf32>
//       CHECK:     loop.load %z[%i, 2] along 0 step 3 : memref<48x48xf32>, vector<8xf32>
//       CHECK:     loop.gather %z[%[[D:.+]], %[[E:.+]]] : memref<48x48xf32>, vector<8xf32> at (vector<8xindex>, vector<8xindex>)
//       CHECK:     arith.floordivsi
//       CHECK:     loop.gather %x[%{{.*}}] : memref<48xf32>, vector<8xf32> at (vector<8xindex>)
//       CHECK:     arith.index_cast %{{.*}} : vector<8xi64> to vector<8xindex>
//       CHECK:     loop.scatter %{{.*}}, %y[%{{.*}}] : memref<48xf32>, vector<8xf32> at (vector<8xindex>)
loop.kernel @places(%x: memref<48xf32>, %y: memref<48xf32>, %z: memref<48x48xf32>, %p: memref<48xi64>) {
  loop.for seq %i = 0 to 48 step 3 {
    %a = loop.load %x[%i] : memref<48xf32>
    %b = loop.load %z[%i, 2] : memref<48x48xf32>
    %c = loop.load %z[%i, %i] : memref<48x48xf32>
    %d = loop.load %x[%i floordiv 5] : memref<48xf32>
    %p0 = loop.load %p[%i] : memref<48xi64>
    %at = arith.index_cast %p0 : i64 to index
    %e = arith.addf %a, %b : f32
    %f = arith.addf %c, %d : f32
    %g = arith.mulf %e, %f : f32
    loop.store %g, %y[%at] : memref<48xf32>
  }
}

// -----

/// Conditions become masks and selections; only the last element of the load is not known to be there.
// CHECK-LABEL: loop.kernel @condition
//       CHECK:     %[[C:.+]] = arith.cmpf ogt, %{{.*}} : vector<8xf32>
//       CHECK:     loop.load %x[%i + 1] mask %[[C]] : memref<64xf32>, vector<8xf32>
//       CHECK:     %[[R:.+]] = arith.select %[[C]], %{{.*}}, %{{.*}} : vector<8xi1>, vector<8xf32>
//  CHECK-NEXT:     loop.store %[[R]], %y[%i] : memref<64xf32>, vector<8xf32>
loop.kernel @condition(%x: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for seq %i = 0 to 64 {
    %a = loop.load %y[%i] : memref<64xf32>
    %big = arith.cmpf ogt, %a, %zero : f32
    %r = loop.if %big -> f32 {
      %b = loop.load %x[%i + 1] : memref<64xf32>
      loop.yield %b : f32
    } else {
      loop.yield %zero : f32
    }
    loop.store %r, %y[%i] : memref<64xf32>
  }
}

// -----

/// A `while` runs until the last lane stops; the others keep their values.
// CHECK-LABEL: loop.kernel @halve
//       CHECK:     %[[C:.+]] = arith.cmpf ogt
//       CHECK:     %[[ANY:.+]] = loop.reduce_lanes<or> %[[C]] : vector<8xi1>
//       CHECK:     loop.while %[[ANY]] carry %[[ON:.+]] = %[[C]] : vector<8xi1>, %[[V:.+]] = %{{.*}} : vector<8xf32> {
//       CHECK:       %[[H:.+]] = arith.mulf %[[V]]
//       CHECK:       %[[D:.+]] = arith.cmpf ogt, %[[H]]
//       CHECK:       %[[STILL:.+]] = arith.andi %[[ON]], %[[D]] : vector<8xi1>
//       CHECK:       %[[K:.+]] = arith.select %[[ON]], %[[H]], %[[V]] : vector<8xi1>, vector<8xf32>
//       CHECK:       %[[GO:.+]] = loop.reduce_lanes<or> %[[STILL]] : vector<8xi1>
//       CHECK:       loop.yield %[[GO]], %[[STILL]], %[[K]]
loop.kernel @halve(%x: memref<64xf32>) {
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  loop.for seq %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    %c = arith.cmpf ogt, %a, %one : f32
    %r = loop.while %c carry %v = %a : f32 {
      %h = arith.mulf %v, %half : f32
      %d = arith.cmpf ogt, %h, %one : f32
      loop.yield %d, %h : i1, f32
    }
    loop.store %r, %x[%i] : memref<64xf32>
  }
}

// -----

/// Each lane has its own copy of a local buffer.
// CHECK-LABEL: loop.kernel @local
//       CHECK:     %t = loop.alloc stack : memref<4x8xf32>
//       CHECK:       loop.store %{{.*}}, %t[%j, 0] : memref<4x8xf32>, vector<8xf32>
//       CHECK:     loop.load %t[3, 0] : memref<4x8xf32>, vector<8xf32>
loop.kernel @local(%x: memref<4x64xf32>, %y: memref<64xf32>) {
  loop.for seq %i = 0 to 64 {
    %t = loop.alloc stack : memref<4xf32>
    loop.for seq %j = 0 to 4 {
      %a = loop.load %x[%j, %i] : memref<4x64xf32>
      loop.store %a, %t[%j] : memref<4xf32>
    }
    %b = loop.load %t[3] : memref<4xf32>
    loop.store %b, %y[%i] : memref<64xf32>
  }
}

// -----

/// Lanes take part in a loop inside while its index is within their bounds.
// CHECK-LABEL: loop.kernel @triangle
//       CHECK:   loop.for vector %i = 0 to 64 step 8 {
//       CHECK:     loop.for seq %j = 0 to %i + 7 {
//       CHECK:       %[[M:.+]] = arith.cmpi slt, %{{.*}}, %{{.*}} : vector<8xindex>
//       CHECK:       loop.load %x[%i, %j] along 0 mask %[[M]] : memref<64x64xf32>, vector<8xf32>
loop.kernel @triangle(%x: memref<64x64xf32>, %y: memref<64xf32>) {
  loop.for seq %i = 0 to 64 {
    loop.for seq %j = 0 to %i {
      %a = loop.load %x[%i, %j] : memref<64x64xf32>
      loop.store %a, %y[%i] : memref<64xf32>
    }
  }
}

// -----

/// Partial sums, then one tree for each of the results.
// CHECK-LABEL: loop.kernel @sums
//       CHECK:   %[[P:.+]], %[[Q:.+]] = loop.for reduce<add> %i = 0 to 64 step 8 init %{{.*}} : vector<8xf32>, %{{.*}} : vector<8xf32> {
//       CHECK:   loop.reduce_lanes<add> %[[P]] : vector<8xf32>
//       CHECK:   loop.reduce_lanes<add> %[[Q]] : vector<8xf32>
loop.kernel @sums(%x: memref<64xf32>, %y: memref<2xf32>) {
  %zero = arith.constant 0.0 : f32
  %s, %t = loop.for reduce<add> %i = 0 to 64 init %zero : f32, %zero : f32 {
    %a = loop.load %x[%i] : memref<64xf32>
    %b = arith.mulf %a, %a : f32
    loop.yield %a, %b : f32, f32
  }
  loop.store %s, %y[0] : memref<2xf32>
  loop.store %t, %y[1] : memref<2xf32>
}

// -----

/// A value from eight iterations before is there already.
// CHECK-LABEL: loop.kernel @far
//       CHECK:   loop.for vector %i = 0 to 56 step 8 {
loop.kernel @far(%x: memref<64xf32>) {
  loop.for seq %i = 0 to 56 {
    %a = loop.load %x[%i] : memref<64xf32>
    loop.store %a, %x[%i + 8] : memref<64xf32>
  }
}

// -----

/// One iteration nearer, and it is not.
// expected-error@+2 {{iterations less than 8 apart depend on one another: iteration i=0 writes x[7] and iteration i=7 reads it}}
loop.kernel @no_near(%x: memref<64xf32>) {
  loop.for seq %i = 0 to 56 {
    %a = loop.load %x[%i] : memref<64xf32>
    loop.store %a, %x[%i + 7] : memref<64xf32>
  }
}

// -----

/// A statement runs for all lanes before the next one does: the store would overwrite what the load of lane 1 wants.
// expected-error@+2 {{iteration i=0 reads x[1] and iteration i=1 writes it}}
loop.kernel @no_late(%x: memref<65xf32>, %y: memref<64xf32>) {
  loop.for seq %i = 0 to 64 {
    %a = loop.load %y[%i] : memref<64xf32>
    loop.store %a, %x[%i] : memref<65xf32>
    %b = loop.load %x[%i + 1] : memref<65xf32>
    loop.store %b, %y[%i] : memref<64xf32>
  }
}

// -----

// expected-error@+2 {{cannot decide: a subscript of y depends on data}}
loop.kernel @no_histogram(%p: memref<64xi64>, %y: memref<64xf32>, %w: memref<64xf32>) {
  loop.for seq %i = 0 to 64 {
    %p0 = loop.load %p[%i] : memref<64xi64>
    %at = arith.index_cast %p0 : i64 to index
    %a = loop.load %w[%i] : memref<64xf32>
    %b = loop.load %y[%at] : memref<64xf32>
    %c = arith.addf %a, %b : f32
    loop.store %c, %y[%at] : memref<64xf32>
  }
}

// -----

// expected-error@+3 {{the loop carries %acc from iteration to iteration}}
loop.kernel @no_carried(%x: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for seq %i = 0 to 64 carry %acc = %zero : f32 {
    %a = loop.load %x[%i] : memref<64xf32>
    %b = arith.addf %acc, %a : f32
    loop.store %b, %y[%i] : memref<64xf32>
    loop.yield %b : f32
  }
}

// -----

// expected-error@+2 {{the loop is vectorized already}}
loop.kernel @no_twice(%x: memref<64xf32>) {
  loop.for vector %i = 0 to 64 step 8 {
    %a = loop.load %x[%i] : memref<64xf32>, vector<8xf32>
    loop.store %a, %x[%i] : memref<64xf32>, vector<8xf32>
  }
}
