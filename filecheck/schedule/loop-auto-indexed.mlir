// RUN: lamina-opt %s -p graph-decompose,graph-fuse,convert-graph-to-loop,loop-auto | filecheck %s

/// Rows at places that data gives: the loop along a row becomes one vector, and rows of later iterations are asked for.
func.func @rows(%x: tensor<500x64xf32>, %i: tensor<40xi64>) -> tensor<40x64xf32> {
  %y = graph.gather %x, %i at [0] : (tensor<500x64xf32>, tensor<40xi64>) -> tensor<40x64xf32>
  return %y : tensor<40x64xf32>
}
// CHECK-LABEL: loop.kernel @gather(
//       CHECK:   loop.for parallel %i_1 = 0 to 40 {
//       CHECK:     %[[AT:.+]] = arith.minsi
//       CHECK:     loop.for vector %[[J:.+]] = 0 to 64
//       CHECK:       loop.prefetch %x[%{{.+}}, %[[J]]] : memref<500x64xf32>
//       CHECK:       loop.load %x[%[[AT]], %[[J]]{{.*}}] : memref<500x64xf32>, vector<

/// The sums over the rows of two bags stay in registers, whole rows of them.
func.func @bag(%x: tensor<500x64xf32>, %i: tensor<40x8xi64>) -> tensor<40x64xf32> {
  %rows = graph.embedding %i, %x : (tensor<40x8xi64>, tensor<500x64xf32>) -> tensor<40x8x64xf32>
  %y = graph.reduce add %rows over [1] : tensor<40x8x64xf32> -> tensor<40x64xf32>
  return %y : tensor<40x64xf32>
}
// CHECK-LABEL: loop.kernel @gather_reduce(
//       CHECK:   loop.for parallel %{{.+}} = 0 to 40 step 2 {
//       CHECK:     loop.for vector %j = 0 to 64
//       CHECK:       loop.for reduce<add> %k = 0 to 8 init %{{.+}} : vector<{{.+}}, %{{.+}} : vector<
//       CHECK:         loop.prefetch %x[

/// Updates are made one after the other, each as vectors; wide ones in parts for threads.
func.func @updates(%x: tensor<500x64xf32>, %u: tensor<40x64xf32>, %i: tensor<40xi64>) -> tensor<500x64xf32> {
  %y = graph.scatter add %x, %u, %i at [0] : (tensor<500x64xf32>, tensor<40x64xf32>, tensor<40xi64>) -> tensor<500x64xf32>
  return %y : tensor<500x64xf32>
}
// CHECK-LABEL: loop.kernel @scatter(
//       CHECK:   loop.for parallel %[[PART:.+]] = 0 to 2 {
//       CHECK:     loop.for seq %{{.+}} = 0 to 40 {
//       CHECK:       loop.if
//       CHECK:         loop.for vector %{{.+}} = 0 to 32
//       CHECK:           loop.prefetch %

/// Rows along which a sum runs are interleaved.
func.func @running(%x: tensor<48x100xf32>) -> tensor<48x100xf32> {
  %y = graph.scan add %x along 1 forward inclusive : tensor<48x100xf32>
  return %y : tensor<48x100xf32>
}
// CHECK-LABEL: loop.kernel @scan(
//  CHECK-NEXT:   %[[ZERO:.+]] = arith.constant -0.000000e+00 : f32
//  CHECK-NEXT:   loop.for parallel %{{.+}} = 0 to 48 step 8 {
//  CHECK-NEXT:     loop.for seq %j = 0 to 100 carry

/// Single elements are no rows: they stay as they are, for the strategies that follow.
func.func @no_rows(%x: tensor<500xf32>, %i: tensor<3xi64>) -> tensor<3xf32> {
  %y = graph.gather %x, %i at [0] : (tensor<500xf32>, tensor<3xi64>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
// CHECK-LABEL: loop.kernel @gather_1(
//       CHECK:   loop.for parallel %{{.+}} = 0 to 3 {
