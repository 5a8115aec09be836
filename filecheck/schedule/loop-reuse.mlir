// RUN: lamina-opt %s %validate -p 'loop-reuse{first=k second=j}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-reuse{first=k second=j}' --split-input-file 2>/dev/null | filecheck %s

/// The exponential is kept, and what only it needed is not computed again.
// CHECK-LABEL: loop.kernel @row
//       CHECK:     %k_row = loop.alloc scratch : memref<32xf32>
//       CHECK:     loop.for reduce<add> %k = 0 to 32
//       CHECK:       %[[E:.+]] = math.exp
//  CHECK-NEXT:       loop.store %[[E]], %k_row[%k]
//       CHECK:     loop.for parallel %j = 0 to 32 {
//  CHECK-NEXT:       %[[F:.+]] = loop.load %k_row[%j]
//  CHECK-NEXT:       arith.divf %[[F]]
//  CHECK-NEXT:       loop.store
loop.kernel @row(%x: memref<8x32xf32>, %y: memref<8x32xf32>) {
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
      loop.store %q, %y[%i, %j] : memref<8x32xf32>
    }
  }
}

// -----

/// A sum of two is as cheap as a load.
// expected-error@+2 {{j computes nothing again that costs 8 operations}}
loop.kernel @no_cheap_values(%x: memref<32xf32>, %y: memref<32xf32>) {
  loop.for parallel %k = 0 to 32 {
    %a = loop.load %x[%k] : memref<32xf32>
    %b = arith.addf %a, %a : f32
    loop.store %b, %y[%k] : memref<32xf32>
  }
  loop.for parallel %j = 0 to 32 {
    %a = loop.load %x[%j] : memref<32xf32>
    %b = arith.addf %a, %a : f32
    %c = arith.mulf %b, %b : f32
    loop.store %c, %y[%j] : memref<32xf32>
  }
}

// -----

/// What the first loop changes is not what the second one reads.
// expected-error@+2 {{j computes nothing again that costs 8 operations}}
loop.kernel @no_changed_values(%x: memref<32xf32>, %y: memref<32xf32>) {
  loop.for parallel %k = 0 to 32 {
    %a = loop.load %x[%k] : memref<32xf32>
    %e = math.exp %a : f32
    loop.store %e, %x[%k] : memref<32xf32>
  }
  loop.for parallel %j = 0 to 32 {
    %a = loop.load %x[%j] : memref<32xf32>
    %e = math.exp %a : f32
    %n = arith.negf %e : f32
    loop.store %n, %y[%j] : memref<32xf32>
  }
}

// -----

/// The elements would be others.
// expected-error@+2 {{k and j do not both count from 0 by 1 to one constant}}
loop.kernel @no_other_range(%x: memref<33xf32>, %y: memref<33xf32>) {
  loop.for parallel %k = 0 to 32 {
    %a = loop.load %x[%k] : memref<33xf32>
    %e = math.exp %a : f32
    loop.store %e, %y[%k] : memref<33xf32>
  }
  loop.for parallel %j = 1 to 33 {
    %a = loop.load %x[%j] : memref<33xf32>
    %e = math.exp %a : f32
    %n = arith.negf %e : f32
    loop.store %n, %y[%j] : memref<33xf32>
  }
}

// -----

// expected-error@+6 {{k and j are not two loops of one body, in this order}}
loop.kernel @no_order(%x: memref<32xf32>, %y: memref<32xf32>) {
  loop.for parallel %j = 0 to 32 {
    %a = loop.load %x[%j] : memref<32xf32>
    loop.store %a, %y[%j] : memref<32xf32>
  }
  loop.for parallel %k = 0 to 32 {
    %a = loop.load %x[%k] : memref<32xf32>
    loop.store %a, %y[%k] : memref<32xf32>
  }
}
