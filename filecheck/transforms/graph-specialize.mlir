// RUN: lamina-opt %s -p 'graph-specialize{shapes=8x4,4x5}' --split-input-file | filecheck %s

/// Sizes go from the arguments to everything computed from them, calls included.
// CHECK-LABEL: func.func private @f(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> tensor<8x5xf32>
//       CHECK:   graph.dot {{.*}} -> tensor<8x5xf32>
// CHECK-LABEL: func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> tensor<40xf32>
//  CHECK-NEXT:   func.call @f({{.*}} -> tensor<8x5xf32>
//  CHECK-NEXT:   graph.reshape {{.*}} -> tensor<40xf32>
func.func private @f(%x: tensor<?x4xf32>, %w: tensor<4x?xf32>) -> tensor<?x?xf32> {
  %h = graph.dot %x, %w contract [1] with [0] : (tensor<?x4xf32>, tensor<4x?xf32>) -> tensor<?x?xf32>
  return %h : tensor<?x?xf32>
}
func.func @main(%x: tensor<?x4xf32>, %w: tensor<4x?xf32>) -> tensor<?xf32> {
  %y = func.call @f(%x, %w) : (tensor<?x4xf32>, tensor<4x?xf32>) -> tensor<?x?xf32>
  %r = graph.reshape %y : tensor<?x?xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

/// Shapes that are known already change nothing.
// CHECK-LABEL: func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> tensor<8x4xf32>
//  CHECK-NEXT:   graph.exp %x : tensor<8x4xf32>
func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> tensor<8x4xf32> {
  %y = graph.exp %x : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

/// Derivatives have the types of the function they name.
// CHECK-LABEL: func.func private @f(%x: tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK-LABEL: func.func @main
//  CHECK-NEXT:   graph.vjp @f{{.*}} -> (tensor<8x4xf32>, tensor<8x4xf32>)
func.func private @f(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = graph.exp %x : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
func.func @main(%x: tensor<?x4xf32>, %w: tensor<4x?xf32>) -> tensor<?x4xf32> {
  %y, %g = graph.vjp @f(%x) cotangents(%x) wrt [0] : (tensor<?x4xf32>, tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  return %g : tensor<?x4xf32>
}

// -----

/// A size that nothing before gives follows from what must be as large: a bias has as many rows as what it is added to.
// CHECK-LABEL: func.func @main
//       CHECK:   graph.broadcast %{{.*}} to [1] : tensor<5xf32> -> tensor<8x5xf32>
//       CHECK:   return %{{.*}} : tensor<8x5xf32>
func.func @main(%x: tensor<?x4xf32>, %w: tensor<4x5xf32>) -> tensor<?x5xf32> {
  %c = graph.const dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %b = graph.broadcast %c to [1] : tensor<5xf32> -> tensor<?x5xf32>
  %y = graph.dot %x, %w contract [1] with [0] : (tensor<?x4xf32>, tensor<4x5xf32>) -> tensor<?x5xf32>
  %z = graph.add %y, %b : tensor<?x5xf32>
  return %z : tensor<?x5xf32>
}
