// RUN: lamina-opt %s %validate -p 'loop-interleave{first=i second=j size=8 halo=1}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-interleave{first=i second=j size=8 halo=1}' --split-input-file 2>/dev/null | filecheck %s

/// Strips, in which the second loop leaves out one iteration on each side; then the iterations on both sides of each edge.
// CHECK-LABEL: loop.kernel @stencils
//       CHECK:   loop.for seq %io = 0 to %N step 8 {
//  CHECK-NEXT:     loop.for seq %ii = 0 to min(
//       CHECK:       loop.store %a, %y[%io + %ii + 1]
//       CHECK:     loop.for seq %ji = 1 to min(
//       CHECK:       %b = loop.load %y[%io + %ji]
//       CHECK:   loop.for seq %j_edges = 0 to %N + 1 step 8 {
//  CHECK-NEXT:     loop.for seq %j_edge = max(-1, {{.*}}) to min(1, {{.*}}) {
//       CHECK:       loop.load %y[%j_edges + %j_edge]
loop.kernel @stencils(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %N: index)
    shapes(%x[%N], %y[%N + 2], %z[%N]) {
  loop.for seq %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    loop.store %a, %y[%i + 1] : memref<?xf32>
  }
  loop.for seq %j = 0 to %N {
    %b = loop.load %y[%j] : memref<?xf32>
    %c = loop.load %y[%j + 2] : memref<?xf32>
    %d = arith.addf %b, %c : f32
    loop.store %d, %z[%j] : memref<?xf32>
  }
}

// -----

/// What lies further ahead than the halo is not there yet.
// expected-error@+2 {{j would touch an element too early: iteration i=2 writes y[2] and iteration j=0 reads it}}
loop.kernel @no_element_far_ahead(%x: memref<18xf32>, %y: memref<18xf32>, %z: memref<18xf32>) {
  loop.for parallel %i = 0 to 16 {
    %a = loop.load %x[%i] : memref<18xf32>
    loop.store %a, %y[%i] : memref<18xf32>
  }
  loop.for parallel %j = 0 to 16 {
    %b = loop.load %y[%j + 2] : memref<18xf32>
    loop.store %b, %z[%j] : memref<18xf32>
  }
}

// -----

/// Iterations at the edges come last, so they must be independent.
// expected-error@+3 {{iterations of j would be reordered: iteration j=0 writes z[1] and iteration j=1 reads it}}
loop.kernel @no_recurrence(%y: memref<17xf32>, %z: memref<17xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 16 {
    loop.store %zero, %y[%i] : memref<17xf32>
  }
  loop.for seq %j = 0 to 16 {
    %b = loop.load %z[%j] : memref<17xf32>
    loop.store %b, %z[%j + 1] : memref<17xf32>
  }
}

// -----

// expected-error@+3 {{only seq and parallel loops that carry nothing run in strips, i is another}}
loop.kernel @no_sum(%x: memref<16xf32>, %y: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to 16 init %zero : f32 {
    %a = loop.load %x[%i] : memref<16xf32>
    loop.yield %a : f32
  }
  loop.for parallel %j = 0 to 16 {
    loop.store %zero, %y[%j] : memref<16xf32>
  }
}
