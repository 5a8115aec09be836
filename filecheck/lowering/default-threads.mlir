// RUN: lamina-opt %s --target=x86-64-v3 -p default-threads | filecheck %s
// RUN: lamina-opt %s --target=x86-64-v3 -p 'loop-split{kernel=by_hand loop=i size=8}' --compile-to=program | filecheck %s --check-prefix=HAND

/// A loop that may be large runs on threads, also of a kernel that somebody scheduled.
// CHECK-LABEL: loop.kernel @by_hand
//       CHECK:   loop.for parallel %i = 0 to %N threads {
//  HAND-LABEL: loop.kernel @by_hand
//        HAND:   loop.for parallel %{{.+}} = 0 to %N step 8 threads {
loop.kernel @by_hand(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  loop.for parallel %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    loop.store %a, %y[%i] : memref<?xf32>
  }
}

/// Where a schedule says which loops do, no other does.
// CHECK-LABEL: loop.kernel @no_other
//   CHECK-NOT:   %i = 0 to %N threads
//       CHECK:   %j = 0 to 8 threads {
loop.kernel @no_other(%x: memref<?x8xf32>, %y: memref<?x8xf32>, %N: index) shapes(%x[%N, 8], %y[%N, 8]) {
  loop.for parallel %i = 0 to %N {
    loop.for parallel %j = 0 to 8 threads {
      %a = loop.load %x[%i, %j] : memref<?x8xf32>
      loop.store %a, %y[%i, %j] : memref<?x8xf32>
    }
  }
}

/// Little work stays in one thread.
// CHECK-LABEL: loop.kernel @no_work
//   CHECK-NOT:   threads
loop.kernel @no_work(%x: memref<64xf32>, %y: memref<64xf32>) {
  loop.for parallel %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    loop.store %a, %y[%i] : memref<64xf32>
  }
}
