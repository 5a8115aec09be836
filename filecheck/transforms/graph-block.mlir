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
