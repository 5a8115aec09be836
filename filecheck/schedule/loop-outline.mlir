// RUN: lamina-opt %s -p 'loop-outline{kernel=epilogue loop=j}' | filecheck %s
// RUN: lamina-opt %s -p 'loop-outline{kernel=epilogue loop=j}' --compile-to=llvmir | filecheck %s --check-prefix=LLVM
// RUN: lamina-opt %s %validate -p 'loop-outline{kernel=no_sum loop=k}' --verify-diagnostics

/// The body becomes a function, in the thread that meets the loop.
// CHECK-LABEL: loop.kernel @epilogue
//       CHECK:   loop.for seq %i = 0 to 4 {
//       CHECK:     loop.for parallel %j = 0 to 8 outlined {
//        LLVM: define {{.*}} @epilogue
//        LLVM:   call void @"epilogue.parallel0.body"(i64 0, i64 8,
//        LLVM: define internal void @"epilogue.parallel0.body"(i64 %begin, i64 %end,
//        LLVM:   @llvm.fma
loop.kernel @epilogue(%x: memref<4x8xf32>) {
  loop.for seq %i = 0 to 4 {
    loop.for parallel %j = 0 to 8 {
      %a = loop.load %x[%i, %j] : memref<4x8xf32>
      %b = math.exp %a : f32
      loop.store %b, %x[%i, %j] : memref<4x8xf32>
    }
  }
}

/// A function has no results.
loop.kernel @no_sum(%x: memref<8xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{loop-outline{kernel=no_sum loop=k}: only a seq or parallel loop without carried values can be a function}}
  %s = loop.for reduce<add> %k = 0 to 8 init %zero : f32 {
    %a = loop.load %x[%k] : memref<8xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}
