// RUN: lamina-opt %s -p graph-inline --split-input-file | filecheck %s

/// Calls of calls are expanded, innermost first; private functions that nobody names any more go.
//   CHECK-NOT: func.func private
// CHECK-LABEL: func.func @nested
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xf32>)
//  CHECK-NEXT:   %[[A:.+]] = graph.exp %[[X]]
//  CHECK-NEXT:   %[[B:.+]] = graph.neg %[[A]]
//  CHECK-NEXT:   return %[[B]]
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = graph.neg %y : tensor<4xf32>
  return %z : tensor<4xf32>
}
func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @outer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

/// A public function may be called from outside: its body is copied, and it stays.
// CHECK-LABEL: func.func @public
// CHECK-LABEL: func.func @main
//  CHECK-NEXT:   graph.exp
//  CHECK-NEXT:   return
func.func @public(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @public(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

/// A function without a body cannot be inlined: the call stays, and so does the declaration.
//       CHECK: func.func private @elsewhere
// CHECK-LABEL: func.func @no_body
//  CHECK-NEXT:   func.call @elsewhere
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
func.func @no_body(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
