// RUN: lamina-opt %s -p graph-dce --split-input-file | filecheck %s

/// A chain that leads nowhere goes as a whole.
// CHECK-LABEL: func.func @dead_chain
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xf32>)
//  CHECK-NEXT:   return %[[X]]
func.func @dead_chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.exp %x : tensor<4xf32>
  %b = graph.neg %a : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

/// Private functions that are named only by each other's remains go, too.
//   CHECK-NOT: private
// CHECK-LABEL: func.func @main
func.func private @leaf(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func private @root(%x: tensor<f32>) -> tensor<f32> {
  %y = func.call @leaf(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

/// A call may do something: it stays, and its function stays.
//       CHECK: func.func private @effect
// CHECK-LABEL: func.func @no_call_dropped
//  CHECK-NEXT:   func.call @effect
func.func private @effect(tensor<f32>) -> tensor<f32>
func.func @no_call_dropped(%x: tensor<f32>) -> tensor<f32> {
  %y = func.call @effect(%x) : (tensor<f32>) -> tensor<f32>
  return %x : tensor<f32>
}

// -----

/// Singular values alone, where nobody uses vectors.
// CHECK-LABEL: func.func @values_alone
//  CHECK-NEXT:   %[[S:.+]] = graph.square_svd values %x : tensor<3x3xf32> -> tensor<3xf32>
//  CHECK-NEXT:   return %[[S]]
func.func @values_alone(%x: tensor<3x3xf32>) -> tensor<3xf32> {
  %s, %u, %vt = graph.square_svd vectors %x : tensor<3x3xf32> -> (tensor<3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
  return %s : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @no_values_alone
//  CHECK-NEXT:   graph.square_svd vectors
func.func @no_values_alone(%x: tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3x3xf32>) {
  %s, %u, %vt = graph.square_svd vectors %x : tensor<3x3xf32> -> (tensor<3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
  return %s, %vt : tensor<3xf32>, tensor<3x3xf32>
}

// -----

/// A call that returns nothing and does nothing to the process goes, and with it what only it needs.
//   CHECK-NOT: @nothing
// CHECK-LABEL: func.func @call_for_nothing
//  CHECK-NEXT:   return %x
func.func private @nothing(%x: tensor<f32>) {
  return
}
func.func @call_for_nothing(%x: tensor<f32>) -> tensor<f32> {
  %y = graph.exp %x : tensor<f32>
  graph.call @nothing(%y) : (tensor<f32>) -> ()
  return %x : tensor<f32>
}

// -----

/// One that prints stays.
// CHECK-LABEL: func.func @no_printing_call
//  CHECK-NEXT:   graph.call @printing
func.func private @printing(%x: tensor<f32>) {
  graph.print "x = {0}"(%x) : (tensor<f32>) -> ()
  return
}
func.func @no_printing_call(%x: tensor<f32>) -> tensor<f32> {
  graph.call @printing(%x) : (tensor<f32>) -> ()
  return %x : tensor<f32>
}
