// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=loop | filecheck %s --check-prefix=LOOP
// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=loop | lamina-opt - -p 'loop-auto{verbose=true}' 2>&1 >/dev/null | filecheck %s --check-prefix=STEPS
// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=scheduled | filecheck %s

/// A sum over features and the window, of elements that lie side by side for neighbouring points, also of the next row.
// LOOP-LABEL: loop.kernel @conv(
//       LOOP: %sums = loop.alloc scratch
//       LOOP: loop.for parallel %[[OUT:.+]] = 0 to 16 {
//       LOOP: loop.for parallel %[[POINT:.+]] = 0 to 166 {
//       LOOP: loop.for reduce<add> %[[IN:.+]] = 0 to 8
//       LOOP: loop.for reduce<add> %[[ROW:.+]] = 0 to 5
//       LOOP: loop.for reduce<add> %[[COLUMN:.+]] = 0 to 5
//   LOOP-DAG: loop.load %w[%[[OUT]], %[[IN]], %[[ROW]], %[[COLUMN]]]
//   LOOP-DAG: loop.load %image[%[[IN]], 0, 0, {{.*}}]
//       LOOP: loop.store %{{.+}}, %sums[%[[OUT]], %[[POINT]]]

/// Blocks of rows compute their sums; one chain of these, unrolled along rows of the window, in a register tile.
//      STEPS: loop-reorder{loops=[[ROWS:.+]],[[OUT:.+]]}
// STEPS-NEXT: loop-split{loop=[[ROWS]] size=3}
// STEPS-NEXT: loop-reorder{loops=[[BLOCK:.+]],[[OUT]],{{.+}}}
// STEPS-NEXT: loop-compute-at{buffer=sums at=[[BLOCK]]}
// STEPS-NEXT: loop-ungroup{loop=[[IN:.+]]}
// STEPS-NEXT: loop-ungroup{loop=[[ROW:.+]]}
// STEPS-NEXT: loop-unroll{loop=[[COLUMN:.+]]}
// STEPS-NEXT: loop-peel{loop=[[POINT:.+]] count=-8}
// STEPS-NEXT: loop-vectorize{loop={{.+}} lanes=8}
// STEPS-NEXT: loop-vectorize{loop=[[POINT]] lanes=16}
// STEPS-NEXT: loop-unroll-and-jam{loop={{.+}} factor=6}

// CHECK-LABEL: loop.kernel @conv(
//       CHECK: loop.for parallel %{{.+}} = 0 to 12 step 3 threads {
//       CHECK: %sums = loop.alloc scratch : memref<16x40xf32>
//       CHECK: loop.for vector %{{.+}} = 0 to 32 step 16 {
//       CHECK: %{{.+}}, %{{.+}} = loop.for seq %{{.+}} = 0 to 8 carry
//       CHECK: loop.for unroll %{{.+}} = 0 to 5 carry
//       CHECK: loop.store %{{.+}}, %sums[{{.+}}] : memref<16x40xf32>, vector<16xf32>
func.func @main(%x : tensor<1x8x12x12xf32>, %w : tensor<16x8x5x5xf32>) -> tensor<1x16x12x12xf32> {
  %y = graph.conv %x, %w stride [1, 1] low [2, 2] high [2, 2] groups 1
    : (tensor<1x8x12x12xf32>, tensor<16x8x5x5xf32>) -> tensor<1x16x12x12xf32>
  func.return %y : tensor<1x16x12x12xf32>
}
