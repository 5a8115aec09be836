// RUN: lamina-opt %s --target='x86-64-v3{l2=256K}' --compile-to=loop | filecheck %s --check-prefix=LOOP
// RUN: lamina-opt %s --target='x86-64-v3{l2=256K}' --compile-to=loop | lamina-opt -p 'loop-auto{verbose=true}' 2>&1 >/dev/null | filecheck %s --check-prefix=STEPS
// RUN: lamina-opt %s --target='x86-64-v3{l2=256K}' --compile-to=scheduled | filecheck %s

/// Transforms of all filters and tiles, and their product for each point.
// LOOP-LABEL: loop.kernel @conv(
//       LOOP: %filters = loop.alloc scratch : memref<36x48x96xf32>
//       LOOP: %padded = loop.alloc scratch : memref<1x26x26x48xf32>
//       LOOP: %image = loop.alloc scratch : memref<36x1x6x6x48xf32>
//       LOOP: loop.load %padded[0, %[[Y:.+]] * 4, %[[X:.+]] * 4 + %{{.+}}, %[[C:.+]]]
//       LOOP: loop.store %{{.+}}, %image[%{{.+}} * 6 + %{{.+}}, 0, %[[Y]], %[[X]], %[[C]]]
//       LOOP: %products = loop.alloc scratch : memref<36x1x6x6x96xf32>
//       LOOP: loop.for reduce<add> %[[C:.+]] = 0 to 48
//       LOOP: loop.load %image[%[[P:.+]], 0, %[[Y:.+]], %[[X:.+]], %[[C]]]
//       LOOP: loop.load %filters[%[[P]], %[[C]], %[[O:.+]]]
//       LOOP: loop.store %{{.+}}, %products[%[[P]], 0, %[[Y]], %[[X]], %[[O]]]

/// Rows of tiles and blocks of filters; products of a few features at a time. The tiles of a block are one loop.
//      STEPS: loop-split{loop=[[O:.+]] size=32}
//      STEPS: loop-reorder{loops=
//      STEPS: loop-compute-at{buffer=products at=[[OO:.+]]}
//      STEPS: loop-partition
//      STEPS: loop-collapse-dims{buffer=image dim=1 count=3}
//      STEPS: loop-collapse-dims{buffer=products dim=1 count=3}
//      STEPS: loop-coalesce
//      STEPS: loop-demote{loop=[[PART:.+]]}
//      STEPS: loop-compute-at{buffer=filters at=[[PART]]}
//      STEPS: loop-vectorize
//      STEPS: loop-unroll-and-jam

// CHECK-LABEL: loop.kernel @conv(
//   CHECK-NOT: loop.alloc scratch : memref<36x48x96xf32>
//       CHECK: loop.for parallel %[[OO:.+]] = 0 to 96 step 32
//       CHECK: %products = loop.alloc scratch
//       CHECK: loop.for seq %[[PART:.+]] = 0 to 48 step
//       CHECK: %filters = loop.alloc scratch
func.func @main(%x : tensor<1x24x24x48xf32>, %w : tensor<96x48x3x3xf32>) -> tensor<1x24x24x96xf32> {
  %y = graph.conv %x, %w stride [1, 1] low [1, 1] high [1, 1] x_dims [0, 3, 1, 2] y_dims [0, 3, 1, 2] groups 1 tile [4, 4]
    : (tensor<1x24x24x48xf32>, tensor<96x48x3x3xf32>) -> tensor<1x24x24x96xf32>
  return %y : tensor<1x24x24x96xf32>
}
