// RUN: lamina-opt %s --target=x86-64-v4 -p 'loop-share-roots{kernel=shared loop=i}' | filecheck %s
// RUN: lamina-opt %s --target=x86-64-v4 -p 'loop-share-roots{kernel=shared loop=i}' --compile-to=llvmir | filecheck %s --check-prefix=LLVM
// RUN: lamina-opt %s --target=x86-64-v3 -p 'loop-share-roots{kernel=shared loop=i}' --compile-to=llvmir | filecheck %s --check-prefix=V3
// RUN: lamina-opt %s %validate -p 'loop-share-roots{kernel=no_vectors loop=i}' --verify-diagnostics

/// The roots in the body of a loop are marked; where there is an instruction for estimates, half of them are multiplied.
// CHECK-LABEL: loop.kernel @shared
//       CHECK:   math.sqrt %a {shared} : vector<32xf32>
//        LLVM: define {{.*}} @shared
//        LLVM: rsqrt14
//      V3-NOT: rsqrt14
loop.kernel @shared(%x: memref<32xf32>, %y: memref<32xf32>) {
  loop.for vector %i = 0 to 32 step 32 {
    %a = loop.load %x[%i] : memref<32xf32>, vector<32xf32>
    %b = math.sqrt %a : vector<32xf32>
    %c = arith.divf %a, %b : vector<32xf32>
    loop.store %c, %y[%i] : memref<32xf32>, vector<32xf32>
  }
}

/// Scalars are not shared.
loop.kernel @no_vectors(%x: memref<32xf32>, %y: memref<32xf32>) {
  // expected-error@+1 {{loop-share-roots{kernel=no_vectors loop=i}: no square roots of f32 vectors stand directly in 'i'}}
  loop.for parallel %i = 0 to 32 {
    %a = loop.load %x[%i] : memref<32xf32>
    %b = math.sqrt %a : f32
    loop.store %b, %y[%i] : memref<32xf32>
  }
}
