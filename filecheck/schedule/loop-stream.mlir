// RUN: lamina-opt %s %validate -p 'loop-stream{buffer=y}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-stream{buffer=y}' --split-input-file 2>/dev/null | filecheck %s

/// Stores of vectors are marked, those under a mask are not.
loop.kernel @k(%x: memref<40x100xf32>, %y: memref<40x100xf32>, %m: index) {
  loop.for seq %i = 0 to 40 {
    loop.for vector %j = 0 to 96 step 32 {
      %v = loop.load %x[%i, %j] : memref<40x100xf32>, vector<32xf32>
      loop.store %v, %y[%i, %j] : memref<40x100xf32>, vector<32xf32>
    }
    %mask = vector.create_mask %m : vector<8xi1>
    %w = loop.load %x[%i, 92] mask %mask : memref<40x100xf32>, vector<8xf32>
    loop.store %w, %y[%i, 92] mask %mask : memref<40x100xf32>, vector<8xf32>
  }
}
// CHECK-LABEL: loop.kernel @k(
//       CHECK:   loop.store %v, %y[%i, %j] {{.*}}streamed
//       CHECK:   loop.store %w, %y[%i, 92] mask %mask : memref

// -----

/// A buffer that is read is in the caches anyway.
// expected-error@+1 {{loop-stream{buffer=y}: y is read as well, which loads it into the caches again}}
loop.kernel @no_result(%y: memref<32xf32>) {
  %v = loop.load %y[0] : memref<32xf32>, vector<32xf32>
  loop.store %v, %y[0] : memref<32xf32>, vector<32xf32>
}
