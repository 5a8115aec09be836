// RUN: lamina-opt %s -p graph-decompose --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'graph-decompose{ops=mean}' --split-input-file | filecheck %s --check-prefix=MEAN

/// A composite becomes primitives.
// CHECK-LABEL: func.func @relu
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xf32>)
//       CHECK:   %[[Z:.+]] = graph.broadcast
//  CHECK-NEXT:   %[[Y:.+]] = graph.max %[[X]], %[[Z]]
//  CHECK-NEXT:   return %[[Y]]
// MEAN-LABEL:  func.func @relu
//  MEAN-NEXT:    graph.relu
func.func @relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.relu %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

/// Composites made of composites go all the way; with `ops` only those named.
// CHECK-LABEL: func.func @nested
//   CHECK-NOT:   graph.log_softmax
//   CHECK-NOT:   graph.mean
// MEAN-LABEL:  func.func @nested
//  MEAN-NEXT:    graph.log_softmax
//  MEAN-NEXT:    graph.reduce add
//   MEAN-NOT:    graph.mean
func.func @nested(%x: tensor<4x3xf32>) -> tensor<4xf32> {
  %s = graph.log_softmax %x over [1] : tensor<4x3xf32>
  %m = graph.mean %s over [1] : tensor<4x3xf32> -> tensor<4xf32>
  return %m : tensor<4xf32>
}

// -----

/// Decompositions depend on the shape: while it is unknown the composite stays, unless it is elementwise.
// CHECK-LABEL: func.func @no_shape
//       CHECK:   graph.max
//  CHECK-NEXT:   graph.softmax
func.func @no_shape(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = graph.relu %x : tensor<?xf32>
  %z = graph.softmax %y over [0] : tensor<?xf32>
  return %z : tensor<?xf32>
}
