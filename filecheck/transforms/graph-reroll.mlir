// RUN: lamina-opt %s -p 'graph-reroll{least=4}' --verify-each --validate-each | filecheck %s
// RUN: lamina-opt %s -p 'graph-reroll{least=4},graph-inline' | filecheck %s --check-prefix=KEPT

/// Layers with weights of their own are one function; the const that all have is in it.
// CHECK-LABEL: func.func private @layers_body(%{{.*}}: tensor<4x4xf32>, %{{.*}}: tensor<4x4xf32>) -> tensor<4x4xf32>
//       CHECK:   graph.const dense<2.000000e+00>
//       CHECK:   graph.dot
//       CHECK:   graph.tanh
//       CHECK:   graph.mul
// CHECK-LABEL: func.func @layers
//  CHECK-NEXT:   %two = graph.const
//  CHECK-NEXT:   %two_b = graph.broadcast
//  CHECK-NEXT:   %y0 = graph.call @layers_body(%x, %u) : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>)
//  CHECK-NEXT:   %y1 = graph.call @layers_body(%y0, %v)
//  CHECK-NEXT:   %y2 = graph.call @layers_body(%y1, %w)
//  CHECK-NEXT:   return %y2
/// It stays a function where others are expanded.
// KEPT-LABEL: func.func @layers
//       KEPT:   graph.call @layers_body
func.func @layers(%x: tensor<4x4xf32>, %u: tensor<4x4xf32>, %v: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %two = graph.const dense<2.0> : tensor<f32>
  %two_b = graph.broadcast %two to [] : tensor<f32> -> tensor<4x4xf32>
  %h0 = graph.dot %x, %u contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t0 = graph.tanh %h0 : tensor<4x4xf32>
  %y0 = graph.mul %t0, %two_b : tensor<4x4xf32>
  %h1 = graph.dot %y0, %v contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t1 = graph.tanh %h1 : tensor<4x4xf32>
  %y1 = graph.mul %t1, %two_b : tensor<4x4xf32>
  %h2 = graph.dot %y1, %w contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t2 = graph.tanh %h2 : tensor<4x4xf32>
  %y2 = graph.mul %t2, %two_b : tensor<4x4xf32>
  return %y2 : tensor<4x4xf32>
}

/// Effects stay in their order: each body has its own.
// CHECK-LABEL: func.func private @effects_body
//       CHECK:   graph.dot
//       CHECK:   graph.print
//       CHECK:   graph.exp
// CHECK-LABEL: func.func @effects
// CHECK-COUNT-3: graph.call @effects_body
func.func @effects(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %h0 = graph.dot %x, %x contract [1] with [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  graph.print "{0}" (%h0) : (tensor<2x2xf32>) -> ()
  %y0 = graph.exp %h0 : tensor<2x2xf32>
  %h1 = graph.dot %y0, %y0 contract [1] with [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  graph.print "{0}" (%h1) : (tensor<2x2xf32>) -> ()
  %y1 = graph.exp %h1 : tensor<2x2xf32>
  %h2 = graph.dot %y1, %y1 contract [1] with [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  graph.print "{0}" (%h2) : (tensor<2x2xf32>) -> ()
  %y2 = graph.exp %h2 : tensor<2x2xf32>
  return %y2 : tensor<2x2xf32>
}

/// Updates of parameters are chained to nothing: they become a function without a product in them.
// CHECK-LABEL: func.func private @updates_body
// CHECK-LABEL: func.func @updates
// CHECK-COUNT-3: graph.call @updates_body
func.func @updates(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>, %g: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a1 = graph.mul %a, %g : tensor<8xf32>
  %a2 = graph.sub %a, %a1 : tensor<8xf32>
  %b1 = graph.mul %b, %g : tensor<8xf32>
  %b2 = graph.sub %b, %b1 : tensor<8xf32>
  %c1 = graph.mul %c, %g : tensor<8xf32>
  %c2 = graph.sub %c, %c1 : tensor<8xf32>
  return %a2, %b2, %c2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

/// Gradients by what a function passes to calls alone are results of calls once derivatives are expanded: so are their updates.
// CHECK-LABEL: func.func private @step_body
// CHECK-LABEL: func.func @step
//       CHECK: graph.vjp @loss
// CHECK-COUNT-3: graph.call @step_body
func.func private @layer(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %y = graph.mul %x, %w : tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @loss(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  %x = graph.call @layer(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
  %y = graph.call @layer(%x, %c) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
  return %y : tensor<8xf32>
}
func.func @step(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>, %g: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %y, %da, %db, %dc = graph.vjp @loss(%a, %b, %c) cotangents(%g) wrt [0, 1, 2]
    : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %a1 = graph.mul %da, %g : tensor<8xf32>
  %a2 = graph.sub %a, %a1 : tensor<8xf32>
  %b1 = graph.mul %db, %g : tensor<8xf32>
  %b2 = graph.sub %b, %b1 : tensor<8xf32>
  %c1 = graph.mul %dc, %g : tensor<8xf32>
  %c2 = graph.sub %c, %c1 : tensor<8xf32>
  return %a2, %b2, %c2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

/// Here the gradients are results of products, whose kernels the updates may end.
// CHECK-LABEL: func.func @no_gradients_of_products
//   CHECK-NOT:   graph.call
//       CHECK:   return
func.func private @products(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  %x = graph.mul %a, %b : tensor<8xf32>
  %y = graph.mul %x, %c : tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @no_gradients_of_products(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>, %g: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %y, %da, %db, %dc = graph.vjp @products(%a, %b, %c) cotangents(%g) wrt [0, 1, 2]
    : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %a1 = graph.mul %da, %g : tensor<8xf32>
  %a2 = graph.sub %a, %a1 : tensor<8xf32>
  %b1 = graph.mul %db, %g : tensor<8xf32>
  %b2 = graph.sub %b, %b1 : tensor<8xf32>
  %c1 = graph.mul %dc, %g : tensor<8xf32>
  %c2 = graph.sub %c, %c1 : tensor<8xf32>
  return %a2, %b2, %c2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

/// Elementwise ops that follow each other are one kernel: a function would keep them apart.
// CHECK-LABEL: func.func @no_chain
//   CHECK-NOT:   graph.call
//       CHECK:   return
func.func @no_chain(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = graph.exp %x : tensor<8xf32>
  %b = graph.neg %a : tensor<8xf32>
  %c = graph.exp %b : tensor<8xf32>
  %d = graph.neg %c : tensor<8xf32>
  %e = graph.exp %d : tensor<8xf32>
  %f = graph.neg %e : tensor<8xf32>
  return %f : tensor<8xf32>
}

/// Bodies that are wired otherwise are not equal: here the second reads its own operand twice.
// CHECK-LABEL: func.func @no_equal_bodies
//   CHECK-NOT:   graph.call
//       CHECK:   return
func.func @no_equal_bodies(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a0 = graph.dot %x, %w contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b0 = graph.tanh %a0 : tensor<4x4xf32>
  %c0 = graph.mul %b0, %a0 : tensor<4x4xf32>
  %a1 = graph.dot %c0, %w contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b1 = graph.tanh %a1 : tensor<4x4xf32>
  %c1 = graph.mul %b1, %b1 : tensor<4x4xf32>
  %a2 = graph.dot %c1, %w contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b2 = graph.tanh %a2 : tensor<4x4xf32>
  %c2 = graph.mul %b2, %c0 : tensor<4x4xf32>
  return %c2 : tensor<4x4xf32>
}

/// Too few ops are saved.
// CHECK-LABEL: func.func @no_short
//   CHECK-NOT:   graph.call
//       CHECK:   return
func.func @no_short(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = graph.dot %x, %x contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = graph.dot %a, %a contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = graph.dot %b, %b contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %c : tensor<4x4xf32>
}

/// What each body slices of an array outside, as layers their keys or rows of stacked weights, is an argument.
// CHECK-LABEL: func.func private @rows_body
//  CHECK-SAME:   (%{{.*}}: tensor<1x4xf32>, %{{.*}}: tensor<4x4xf32>)
//   CHECK-NOT:   graph.slice
// CHECK-LABEL: func.func @rows
//       CHECK:   %[[R0:.+]] = graph.slice %b start [0, 0] stop [1, 4]
//       CHECK:   graph.call @rows_body(%[[R0]], %x)
//       CHECK:   %[[R1:.+]] = graph.slice %b start [1, 0] stop [2, 4]
//       CHECK:   graph.call @rows_body(%[[R1]], %{{.+}})
func.func @rows(%x: tensor<4x4xf32>, %b: tensor<3x4xf32>) -> tensor<4x4xf32> {
  %r0 = graph.slice %b start [0, 0] stop [1, 4] step [1, 1] : tensor<3x4xf32> -> tensor<1x4xf32>
  %t0 = graph.reshape %r0 : tensor<1x4xf32> -> tensor<4xf32>
  %s0 = graph.broadcast %t0 to [1] : tensor<4xf32> -> tensor<4x4xf32>
  %y0 = graph.dot %x, %s0 contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %z0 = graph.tanh %y0 : tensor<4x4xf32>
  %r1 = graph.slice %b start [1, 0] stop [2, 4] step [1, 1] : tensor<3x4xf32> -> tensor<1x4xf32>
  %t1 = graph.reshape %r1 : tensor<1x4xf32> -> tensor<4xf32>
  %s1 = graph.broadcast %t1 to [1] : tensor<4xf32> -> tensor<4x4xf32>
  %y1 = graph.dot %z0, %s1 contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %z1 = graph.tanh %y1 : tensor<4x4xf32>
  %r2 = graph.slice %b start [2, 0] stop [3, 4] step [1, 1] : tensor<3x4xf32> -> tensor<1x4xf32>
  %t2 = graph.reshape %r2 : tensor<1x4xf32> -> tensor<4xf32>
  %s2 = graph.broadcast %t2 to [1] : tensor<4xf32> -> tensor<4x4xf32>
  %y2 = graph.dot %z1, %s2 contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %z2 = graph.tanh %y2 : tensor<4x4xf32>
  return %z2 : tensor<4x4xf32>
}

/// A slice of what the body itself computes is a part of the body: bodies that slice otherwise are not equal.
// CHECK-LABEL: func.func @no_other_halves
//   CHECK-NOT:   graph.call
//       CHECK:   return
func.func @no_other_halves(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a0 = graph.dot %x, %x contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h0 = graph.slice %a0 start [0, 0] stop [1, 4] step [1, 1] : tensor<4x4xf32> -> tensor<1x4xf32>
  %t0 = graph.reshape %h0 : tensor<1x4xf32> -> tensor<4xf32>
  %b0 = graph.broadcast %t0 to [1] : tensor<4xf32> -> tensor<4x4xf32>
  %a1 = graph.dot %b0, %b0 contract [1] with [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h1 = graph.slice %a1 start [1, 0] stop [2, 4] step [1, 1] : tensor<4x4xf32> -> tensor<1x4xf32>
  %t1 = graph.reshape %h1 : tensor<1x4xf32> -> tensor<4xf32>
  %b1 = graph.broadcast %t1 to [1] : tensor<4xf32> -> tensor<4x4xf32>
  return %b1 : tensor<4x4xf32>
}

/// An optimizer updates all averages, then all parameters: what leads to one parameter is brought together, and is a body.
// CHECK-LABEL: func.func private @maps_body
//       CHECK:   graph.tanh
//       CHECK:   graph.exp
//       CHECK:   graph.sub
// CHECK-LABEL: func.func @maps
//  CHECK-NEXT:   graph.call @maps_body
//  CHECK-NEXT:   graph.call @maps_body
//  CHECK-NEXT:   graph.call @maps_body
//  CHECK-NEXT:   return
func.func @maps(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>, %m: tensor<8xf32>, %n: tensor<8xf32>, %o: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %m0 = graph.tanh %m : tensor<8xf32>
  %n0 = graph.tanh %n : tensor<8xf32>
  %o0 = graph.tanh %o : tensor<8xf32>
  %m1 = graph.exp %m0 : tensor<8xf32>
  %n1 = graph.exp %n0 : tensor<8xf32>
  %o1 = graph.exp %o0 : tensor<8xf32>
  %a1 = graph.sub %a, %m1 : tensor<8xf32>
  %b1 = graph.sub %b, %n1 : tensor<8xf32>
  %c1 = graph.sub %c, %o1 : tensor<8xf32>
  return %a1, %b1, %c1, %m1, %n1, %o1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

/// What a product reads is no update: its ops stay where they are.
// CHECK-LABEL: func.func @no_maps_before_a_product
//   CHECK-NOT:   graph.call
func.func @no_maps_before_a_product(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>, %m: tensor<2x2xf32>, %n: tensor<2x2xf32>)
    -> tensor<2x2xf32> {
  %m0 = graph.tanh %m : tensor<2x2xf32>
  %n0 = graph.tanh %n : tensor<2x2xf32>
  %m1 = graph.exp %m0 : tensor<2x2xf32>
  %n1 = graph.exp %n0 : tensor<2x2xf32>
  %a1 = graph.sub %a, %m1 : tensor<2x2xf32>
  %b1 = graph.sub %b, %n1 : tensor<2x2xf32>
  %y = graph.dot %a1, %b1 contract [1] with [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
