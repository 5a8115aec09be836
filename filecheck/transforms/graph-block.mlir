// RUN: lamina-opt %s -p 'graph-block{least=2}' | filecheck %s
// RUN: lamina-opt %s -p graph-block | filecheck %s --check-prefix=DEFAULT

/// The first columns, a triangular solve for what stands below, and what is left of the rest; NaN in the last element spreads.
// CHECK-LABEL: @cholesky
//       CHECK:   %[[FIRST:.*]] = graph.cholesky %{{.*}} : tensor<2x2xf32>
//       CHECK:   %[[BESIDE:.*]] = graph.triangular_solve lower plain given %[[FIRST]], %{{.*}} : (tensor<2x2xf32>, tensor<2x1xf32>)
//       CHECK:   graph.dot %[[BESIDE]], %[[BESIDE]] contract [0] with [0]
//       CHECK:   graph.cholesky %{{.*}} : tensor<1x1xf32>
//       CHECK:   graph.cmp ne
//       CHECK:   return
// DEFAULT-LABEL: @cholesky
//  DEFAULT-NEXT:   graph.cholesky %x : tensor<3x3xf32>
func.func @cholesky(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %y = graph.cholesky %x : tensor<3x3xf32>
  return %y : tensor<3x3xf32>
}

/// The last rows of an upper triangle are known first.
// CHECK-LABEL: @upper
//       CHECK:   %[[BELOW:.*]] = graph.triangular_solve upper plain given %{{.*}} : (tensor<1x1xf32>, tensor<1x7xf32>)
//       CHECK:   graph.dot %{{.*}}, %[[BELOW]]
//       CHECK:   graph.triangular_solve upper plain given %{{.*}} : (tensor<2x2xf32>, tensor<2x7xf32>)
func.func @upper(%a: tensor<3x3xf32>, %y: tensor<3x7xf32>) -> tensor<3x7xf32> {
  %x = graph.triangular_solve upper plain given %a, %y : (tensor<3x3xf32>, tensor<3x7xf32>) -> tensor<3x7xf32>
  return %x : tensor<3x7xf32>
}

/// Rows that the second half exchanges are exchanged in the first one, too.
// CHECK-LABEL: @lu
//       CHECK:   graph.lu %{{.*}} : tensor<5x2xf32> -> (tensor<5x2xf32>, tensor<2xi32>)
//       CHECK:   graph.gather
//       CHECK:   graph.triangular_solve lower plain unit
//       CHECK:   graph.lu %{{.*}} : tensor<3x1xf32> -> (tensor<3x1xf32>, tensor<1xi32>)
//       CHECK:   graph.gather
func.func @lu(%x: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<3xi32>) {
  %y, %p = graph.lu %x : tensor<5x3xf32> -> (tensor<5x3xf32>, tensor<3xi32>)
  return %y, %p : tensor<5x3xf32>, tensor<3xi32>
}

/// The second half is reflected by two products and a triangular solve.
// CHECK-LABEL: @householder
//       CHECK:   graph.householder %{{.*}} : tensor<5x2xf32>
//       CHECK:   graph.triangular_solve upper transposed unit
//       CHECK:   graph.householder %{{.*}} : tensor<3x1xf32>
func.func @householder(%x: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<3x3xf32>) {
  %v, %r = graph.householder %x : tensor<5x3xf32> -> (tensor<5x3xf32>, tensor<3x3xf32>)
  return %v, %r : tensor<5x3xf32>, tensor<3x3xf32>
}

/// One right side or few rows are too little.
// CHECK-LABEL: @no_columns
//       CHECK:   graph.triangular_solve lower plain given %a, %y : (tensor<2x2xf32>, tensor<2x7xf32>)
//  CHECK-NEXT:   return
func.func @no_columns(%a: tensor<2x2xf32>, %y: tensor<2x7xf32>) -> tensor<2x7xf32> {
  %x = graph.triangular_solve lower plain given %a, %y : (tensor<2x2xf32>, tensor<2x7xf32>) -> tensor<2x7xf32>
  return %x : tensor<2x7xf32>
}

/// A product of a matrix and its own transpose: bands of rows up to the diagonal, the rest mirrored.
// DEFAULT-LABEL: @gram
//       DEFAULT:   graph.dot %{{.*}}, %{{.*}} contract [0] with [0] : (tensor<1024x128xf32>, tensor<1024x128xf32>) -> tensor<128x128xf32>
//       DEFAULT:   graph.dot %{{.*}}, %{{.*}} contract [0] with [0] : (tensor<1024x128xf32>, tensor<1024x256xf32>) -> tensor<128x256xf32>
//       DEFAULT:   graph.dot %{{.*}}, %{{.*}} contract [0] with [0] : (tensor<1024x44xf32>, tensor<1024x300xf32>) -> tensor<44x300xf32>
//       DEFAULT:   %[[BELOW:.*]] = graph.cmp ge
//       DEFAULT:   graph.select %[[BELOW]], %{{.*}}, %{{.*}} : (tensor<128x128xi1>, tensor<128x128xf32>
//       DEFAULT:   %[[FIRST:.*]] = graph.concat %{{.*}}, %{{.*}}, %{{.*}} along 1 : {{.*}} -> tensor<128x300xf32>
//       DEFAULT:   %[[LAST:.*]] = graph.concat %{{.*}}, %{{.*}} along 1 : {{.*}} -> tensor<44x300xf32>
//       DEFAULT:   graph.concat %[[FIRST]], %{{.*}}, %[[LAST]] along 0
func.func @gram(%x: tensor<1024x300xf32>) -> tensor<300x300xf32> {
  %y = graph.dot %x, %x contract [0] with [0] : (tensor<1024x300xf32>, tensor<1024x300xf32>) -> tensor<300x300xf32>
  return %y : tensor<300x300xf32>
}

/// Of two matrices, or of a matrix and itself as it is, nothing is known to be symmetric.
// DEFAULT-LABEL: @no_gram_of_two
//  DEFAULT-NEXT:   graph.dot %x, %z
func.func @no_gram_of_two(%x: tensor<1024x300xf32>, %z: tensor<1024x300xf32>) -> tensor<300x300xf32> {
  %y = graph.dot %x, %z contract [0] with [0] : (tensor<1024x300xf32>, tensor<1024x300xf32>) -> tensor<300x300xf32>
  return %y : tensor<300x300xf32>
}

// DEFAULT-LABEL: @no_gram_of_a_square
//  DEFAULT-NEXT:   graph.dot %x, %x contract [1] with [0]
func.func @no_gram_of_a_square(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %y = graph.dot %x, %x contract [1] with [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %y : tensor<512x512xf32>
}

/// Few multiplications are not worth several kernels.
// DEFAULT-LABEL: @no_gram_of_few
//  DEFAULT-NEXT:   graph.dot %x, %x
func.func @no_gram_of_few(%x: tensor<100x300xf32>) -> tensor<300x300xf32> {
  %y = graph.dot %x, %x contract [0] with [0] : (tensor<100x300xf32>, tensor<100x300xf32>) -> tensor<300x300xf32>
  return %y : tensor<300x300xf32>
}
