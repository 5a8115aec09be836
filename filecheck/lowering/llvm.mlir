// RUN: lamina-opt %s --compile-to=llvmir --split-input-file | filecheck %s

/// A sum of products: rotated loops, row addresses before the inner loop, one fused multiply-add a step. Loops without vectors
/// are for LLVM's own passes, which may not make calls of libc of them.
// CHECK-LABEL: define void @dot(ptr noalias %x.0, ptr noalias %w.1, ptr noalias %y.2) nounwind "lamina-optimize" "no-builtins" {
//       CHECK:   %[[I:.+]] = phi i64 [ 0, %entry ]
//       CHECK:   %[[AT:.+]] = mul nsw i64 %[[I]], 64
//       CHECK:   %[[ROW:.+]] = getelementptr inbounds float, ptr %x.0, i64 %[[AT]]
//       CHECK: loop.3:
//  CHECK-NEXT:   %[[K:.+]] = phi i64
//  CHECK-NEXT:   %[[ACC:.+]] = phi float [ 0x0000000000000000, %loop.1 ], [ %[[NEXT:.+]], %loop.3 ]
//  CHECK-NEXT:   %[[XK:.+]] = getelementptr inbounds float, ptr %[[ROW]], i64 %[[K]]
//  CHECK-NEXT:   load float, ptr %[[XK]], align 4
//       CHECK:   %[[NEXT]] = call float @llvm.fma.f32({{.*}}, float %[[ACC]])
//  CHECK-NEXT:   %[[K1:.+]] = add nuw nsw i64 %[[K]], 1
//  CHECK-NEXT:   %[[MORE:.+]] = icmp slt i64 %[[K1]], 64
//  CHECK-NEXT:   br i1 %[[MORE]], label %loop.3, label %done.4
builtin.module attributes {lamina.phase = "program"} {
  loop.kernel @dot(%x: memref<32x64xf32>, %w: memref<64xf32>, %y: memref<32xf32>) {
    %zero = arith.constant 0.0 : f32
    loop.for parallel %i = 0 to 32 {
      %sum = loop.for reduce<add> %k = 0 to 64 init %zero : f32 {
        %a = loop.load %x[%i, %k] : memref<32x64xf32>
        %c = loop.load %w[%k] : memref<64xf32>
        %p = arith.mulf %a, %c : f32
        loop.yield %p : f32
      }
      loop.store %sum, %y[%i] : memref<32xf32>
    }
  }
}

// -----

/// Scalar evolution does not see through the indices of loops over vectors, so loop strength reduction leaves addresses as they
/// are written.
// CHECK-LABEL: define void @twice(ptr noalias %x.0, ptr noalias %y.1) nounwind {
//       CHECK:   %[[COUNTER:.+]] = phi i64 [ 0, %entry ], [ %[[NEXT:.+]], %loop.1 ]
//  CHECK-NEXT:   %[[I:.+]] = call i64 @llvm.expect.i64(i64 %[[COUNTER]], i64 0)
//  CHECK-NEXT:   %[[XI:.+]] = getelementptr inbounds float, ptr %x.0, i64 %[[I]]
//  CHECK-NEXT:   load <8 x float>, ptr %[[XI]], align 4
//       CHECK:   %[[NEXT]] = add nuw nsw i64 %[[I]], 8
builtin.module attributes {lamina.phase = "program"} {
  loop.kernel @twice(%x: memref<64xf32>, %y: memref<64xf32>) {
    loop.for vector %i = 0 to 64 step 8 {
      %a = loop.load %x[%i] : memref<64xf32>, vector<8xf32>
      %b = arith.addf %a, %a : vector<8xf32>
      loop.store %b, %y[%i] : memref<64xf32>, vector<8xf32>
    }
  }
}

// -----

/// A loop of unknown length is guarded; its carried value is the init when it does not run.
// CHECK-LABEL: define void @guarded(ptr noalias %y.0, i64 %n.1)
//       CHECK:   %[[ENTER:.+]] = icmp slt i64 0, %n.1
//  CHECK-NEXT:   br i1 %[[ENTER]], label %loop.1, label %done.2
//       CHECK: done.2:
//  CHECK-NEXT:   phi i64 [ 7, %entry ], [ %{{.*}}, %loop.1 ]
builtin.module attributes {lamina.phase = "program"} {
  loop.kernel @guarded(%y: memref<1xi64>, %n: index) {
    %start = arith.constant 7 : i64
    %last = loop.for seq %i = 0 to %n carry %v = %start : i64 {
      %w = arith.muli %v, %v : i64
      loop.yield %w : i64
    }
    loop.store %last, %y[0] : memref<1xi64>
  }
}

// -----

/// Launched kernels are internal; views are pointers into the arena; booleans are bytes in memory; tails are masked.
// CHECK-LABEL: define internal void @not_masked(ptr noalias %x.0, ptr noalias %y.1, i64 %n.2)
//       CHECK:   call <8 x i8> @llvm.masked.load.v8i8.p0(ptr align 1 %x.0, <8 x i1> %[[M:[^,]+]], <8 x i8> zeroinitializer)
//       CHECK:   icmp ne <8 x i8>
//       CHECK:   zext <8 x i1> {{.*}} to <8 x i8>
//       CHECK:   call void @llvm.masked.store.v8i8.p0({{.*}}, <8 x i1> %[[M]])
// CHECK-LABEL: define void @main(ptr noalias %y.0, ptr noalias %arena.1)
//       CHECK:   %[[V:.+]] = getelementptr inbounds i8, ptr %arena.1, i64 64
//       CHECK:   call void @not_masked(ptr %[[V]], ptr %y.0, i64 5)
builtin.module attributes {lamina.phase = "program"} {
  loop.kernel @not_masked(%x: memref<8xi1>, %y: memref<8xi1>, %n: index) {
    %m = vector.create_mask %n : vector<8xi1>
    %a = loop.load %x[0] mask %m : memref<8xi1>, vector<8xi1>
    %ones = arith.constant dense<true> : vector<8xi1>
    %b = arith.xori %a, %ones : vector<8xi1>
    loop.store %b, %y[0] mask %m : memref<8xi1>, vector<8xi1>
  }
  program.func @main() -> (%y: memref<8xi1>) arena(%arena: memref<128xi8>) {
    %at = arith.constant 64 : index
    %x = memref.view %arena[%at][] : memref<128xi8> to memref<8xi1>
    %n = arith.constant 5 : index
    loop.launch @not_masked(%x, %y, %n) : (memref<8xi1>, memref<8xi1>, index)
  }
}

// -----

/// Arguments that may be one buffer are not `noalias`; unrolled loops leave no loop behind.
// CHECK-LABEL: define void @in_place(ptr %x.0, ptr %y.1, ptr noalias %z.2)
//   CHECK-NOT:   phi
// CHECK-COUNT-3: fneg float
//       CHECK:   ret void
builtin.module attributes {lamina.phase = "program"} {
  loop.kernel @in_place(%x: memref<3xf32>, %y: memref<3xf32>, %z: memref<3xf32>) in_place(%y over %x) {
    loop.for unroll %i = 0 to 3 {
      %a = loop.load %x[%i] : memref<3xf32>
      %b = arith.negf %a : f32
      loop.store %b, %y[%i] : memref<3xf32>
    }
  }
}
