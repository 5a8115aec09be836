// RUN: lamina-opt %s %validate -p 'loop-reuse{first=k second=j into=y}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-reuse{first=k second=j into=y}' --split-input-file 2>/dev/null | filecheck %s

/// The exponential waits where its quotient is stored.
// CHECK-LABEL: loop.kernel @row
//   CHECK-NOT:     loop.alloc
//       CHECK:     loop.for reduce<add> %k = 0 to 32
//       CHECK:       %[[E:.+]] = math.exp
//  CHECK-NEXT:       loop.store %[[E]], %y[%i, %k + 1]
//       CHECK:     loop.for parallel %j = 0 to 32 {
//  CHECK-NEXT:       %[[F:.+]] = loop.load %y[%i, %j + 1]
//  CHECK-NEXT:       %[[Q:.+]] = arith.divf %[[F]]
//  CHECK-NEXT:       loop.store %[[Q]], %y[%i, %j + 1]
loop.kernel @row(%x: memref<8x32xf32>, %y: memref<8x33xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 8 {
    %s = loop.for reduce<add> %k = 0 to 32 init %zero : f32 {
      %a = loop.load %x[%i, %k] : memref<8x32xf32>
      %e = math.exp %a : f32
      loop.yield %e : f32
    }
    loop.for parallel %j = 0 to 32 {
      %b = loop.load %x[%i, %j] : memref<8x32xf32>
      %f = math.exp %b : f32
      %q = arith.divf %f, %s : f32
      loop.store %q, %y[%i, %j + 1] : memref<8x33xf32>
    }
  }
}

// -----

/// All iterations would wait in one place.
// expected-error@+2 {{a value of k cannot be kept in y: one access to it is allowed, a store of the value's type in every iteration of j, to an element whose subscripts are loop indices}}
loop.kernel @no_shared_element(%x: memref<32xf32>, %z: memref<32xf32>, %y: memref<1xf32>) {
  loop.for parallel %k = 0 to 32 {
    %a = loop.load %x[%k] : memref<32xf32>
    %e = math.exp %a : f32
    loop.store %e, %z[%k] : memref<32xf32>
  }
  loop.for seq %j = 0 to 32 {
    %a = loop.load %x[%j] : memref<32xf32>
    %e = math.exp %a : f32
    %n = arith.negf %e : f32
    loop.store %n, %y[0] : memref<1xf32>
  }
}

// -----

/// The second loop reads there what was stored before.
// expected-error@+2 {{a value of k cannot be kept in y: one access to it is allowed}}
loop.kernel @no_other_access(%x: memref<32xf32>, %z: memref<32xf32>, %y: memref<32xf32>) {
  loop.for parallel %k = 0 to 32 {
    %a = loop.load %x[%k] : memref<32xf32>
    %e = math.exp %a : f32
    loop.store %e, %z[%k] : memref<32xf32>
  }
  loop.for parallel %j = 0 to 32 {
    %a = loop.load %x[%j] : memref<32xf32>
    %e = math.exp %a : f32
    %o = loop.load %y[%j] : memref<32xf32>
    %n = arith.addf %e, %o : f32
    loop.store %n, %y[%j] : memref<32xf32>
  }
}

// -----

/// A double does not fit.
// expected-error@+2 {{a value of k cannot be kept in y: one access to it is allowed}}
loop.kernel @no_other_type(%x: memref<32xf32>, %z: memref<32xf32>, %y: memref<32xf64>) {
  loop.for parallel %k = 0 to 32 {
    %a = loop.load %x[%k] : memref<32xf32>
    %e = math.exp %a : f32
    loop.store %e, %z[%k] : memref<32xf32>
  }
  loop.for parallel %j = 0 to 32 {
    %a = loop.load %x[%j] : memref<32xf32>
    %e = math.exp %a : f32
    %n = arith.extf %e : f32 to f64
    loop.store %n, %y[%j] : memref<32xf64>
  }
}
