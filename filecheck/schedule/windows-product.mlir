// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=loop | filecheck %s --check-prefix=LOOP
// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=scheduled | filecheck %s

/// A convolution with features last: the sum of products over the window and the features of a point.
// LOOP-LABEL: loop.kernel @conv(
//       LOOP: loop.for parallel %l = 0 to 14 {
//       LOOP: loop.for parallel %m = 0 to 14 {
//       LOOP: loop.for parallel %n = 0 to 32 {
//       LOOP: loop.for reduce<add> %o = 0 to 3
//       LOOP: loop.for reduce<add> %p = 0 to 3
//       LOOP: loop.for reduce<add> %q = 0 to 16
//       LOOP: loop.load %padded[0, %l * 2 + %o, %m * 2 + %p, %q]
//       LOOP: loop.load %w[%o, %p, %q, %n]
//       LOOP: arith.mulf

/// Five points of a row times two registers of features; four points are left.
// CHECK-LABEL: loop.kernel @conv(
//   CHECK-NOT: loop.if
//       CHECK: loop.for parallel %mo = 0 to 10 step 5 {
//       CHECK: loop.for vector %n = 0 to 32 step 16 {
// CHECK-COUNT-5: loop.load %padded[0, %l * 2 + %o, %mo * 2 + %p
//       CHECK: loop.load %w[%o, %p, %q, %n] : memref<3x3x16x32xf32>, vector<16xf32>
// CHECK-COUNT-5: loop.store %{{.*}}, %out[0, %l, %mo
func.func @main(%x : tensor<1x28x28x16xf32>, %w : tensor<3x3x16x32xf32>) -> tensor<1x14x14x32xf32> {
  %y = graph.conv %x, %w stride [2, 2] low [1, 1] high [0, 0] x_dims [0, 3, 1, 2] w_dims [3, 2, 0, 1] y_dims [0, 3, 1, 2] groups 1
    : (tensor<1x28x28x16xf32>, tensor<3x3x16x32xf32>) -> tensor<1x14x14x32xf32>
  func.return %y : tensor<1x14x14x32xf32>
}
