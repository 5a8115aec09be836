// RUN: lamina-opt %s --target=x86-64-v4 --compile-to=llvmir | filecheck %s
// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=llvmir | filecheck %s --check-prefix=V3

/// Columns that threads share: the first one whose element begins a cache line, if rows are whole lines long; the thread that
/// has the last columns goes on with those before that one, in lanes that are not before the row.
// CHECK-LABEL: define internal void @"k.parallel0.body"(i64 %begin, i64 %end,
//       CHECK:   %[[ADDRESS:.+]] = ptrtoint ptr %[[OUT:.+]] to i64
//  CHECK-NEXT:   %[[BACK:.+]] = sub i64 0, %[[ADDRESS]]
//  CHECK-NEXT:   %[[BYTES:.+]] = and i64 %[[BACK]], 63
//  CHECK-NEXT:   %[[AHEAD:.+]] = udiv i64 %[[BYTES]], 4
//       CHECK:   %[[TURNED:.+]] = and i64 %{{.+}}, 15
//  CHECK-NEXT:   %[[WHOLE:.+]] = icmp eq i64 %[[TURNED]], 0
//  CHECK-NEXT:   select i1 %[[WHOLE]], i64 %[[AHEAD]], i64 0
//       CHECK:   %[[BEFORE:.+]] = sub nsw i64 %{{.+}}, 32
//  CHECK-NEXT:   %[[START:.+]] = select i1 %{{.+}}, i64 0, i64 %[[BEFORE]]
//       CHECK: several
//       CHECK:   %[[COUNTER:.+]] = phi i64 [ %[[START]],
//  CHECK-NEXT:   %[[PART:.+]] = call i64 @llvm.expect.i64(i64 %[[COUNTER]], i64 0)
//       CHECK:   %[[LEFT:.+]] = sub i64 0, %[[PART]]
//       CHECK:   %[[SOME:.+]] = icmp sgt <32 x i32>
//       CHECK:   %[[INSIDE:.+]] = xor <32 x i1> %[[SOME]],
//  CHECK-NEXT:   %[[MASK:.+]] = and <32 x i1> %[[INSIDE]],
//       CHECK:   call void @llvm.masked.store.v32f32.p0(<32 x float> %{{.+}}, ptr align 4 %{{.+}}, <32 x i1> %[[MASK]])

/// Without mask registers the lanes that are known to be off are hidden from code generation by a zero that it does not know.
//          V3:   %[[ZERO:.+]] = load volatile i32
//          V3:   %[[LANES:.+]] = xor <32 x i32>
//          V3:   %[[HIDDEN:.+]] = icmp slt <32 x i32> %[[LANES]],
//          V3:   call void @llvm.masked.store.v32f32.p0(<32 x float> %{{.+}}, ptr align 4 %{{.+}}, <32 x i1> %[[HIDDEN]])
builtin.module attributes {lamina.phase = "program"} {
  loop.kernel @k(%x: memref<?x?xf32>, %p: memref<?xi64>, %out: memref<?x?xf32>, %E: index, %D: index, %N: index)
      shapes(%x[%E, %D], %p[%E], %out[%N + 1, %D]) {
    %size = arith.constant 32 : index
    %zero = arith.constant 0 : index
    loop.for parallel %do = 0 to %D step 32 threads(interchange, align) {
      loop.for seq %e = 0 to %E {
        %rest = arith.subi %D, %do : index
        %n = arith.minsi %size, %rest : index
        loop.for vector %di = 0 to 32 step 32 {
          %m = vector.create_mask %n : vector<32xi1>
          %at = loop.load %p[%e] : memref<?xi64>
          %wanted = arith.index_cast %at : i64 to index
          %first = arith.maxsi %wanted, %zero : index
          %row = arith.minsi %first, %N : index
          %a = loop.load %x[%e, %do + %di] mask %m : memref<?x?xf32>, vector<32xf32>
          %b = loop.load %out[%row, %do + %di] mask %m : memref<?x?xf32>, vector<32xf32>
          %c = arith.addf %a, %b : vector<32xf32>
          loop.store %c, %out[%row, %do + %di] mask %m : memref<?x?xf32>, vector<32xf32>
        }
      }
    }
  }
}
