// RUN: lamina-opt %s | lamina-opt | filecheck %s --check-prefix=SYNTAX
// RUN: lamina-opt %s -p graph-linearize --verify-each | filecheck %s --check-prefix=LINEAR
// RUN: lamina-opt %s -p graph-vmap --verify-each | filecheck %s --check-prefix=BATCH
// RUN: lamina-opt %s -p graph-linearize,graph-transpose,graph-inline,graph-dce --verify-each | filecheck %s --check-prefix=PLAIN
// RUN: lamina-run %s --entry forward_mode --args iota:4xf32 iota:4xf32 --compare | filecheck %s --check-prefix=VALUE
// RUN: lamina-run %s --entry reverse_mode --args iota:4xf32 iota:4xf32 --compare | filecheck %s --check-prefix=VALUE
// RUN: lamina-run %s --entry by_vjp --args 2 iota:4xf32 iota:4xf32 --compare | filecheck %s --check-prefix=VALUE
// RUN: lamina-run %s --entry batched --args iota:3x4xf32 --compare | filecheck %s --check-prefix=VALUE
// RUN: lamina-run %s --entry called --args 2 iota:4xf32 --compare | filecheck %s --check-prefix=VALUE

// VALUE: result 0: largest difference 0,

func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.mul %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
/// The rule says three times the tangent, so that nothing else can be mistaken for it.
func.func private @square_rule(%x: tensor<4xf32>, %t: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = graph.mul %x, %x : tensor<4xf32>
  %three = graph.const dense<3.0> : tensor<4xf32>
  %d = graph.mul %t, %three : tensor<4xf32>
  return %y, %d : tensor<4xf32>, tensor<4xf32>
}
// SYNTAX-LABEL: func.func private @f
// SYNTAX: graph.custom_derivative @square consts() args(%x) jvp @square_rule : (tensor<4xf32>) -> (tensor<4xf32>)
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.custom_derivative @square consts() args(%x) jvp @square_rule : (tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

/// Forward, the rule stands beside the function, which keeps its rule for those who differentiate again.
// LINEAR-LABEL: func.func @forward_mode
//       LINEAR:   %[[Y:.+]] = graph.custom_derivative @square consts() args(%x) jvp @square_rule
//       LINEAR:   %[[D:.+]] = graph.mul %t, %{{.+}} : tensor<4xf32>
//       LINEAR:   return %[[Y]], %[[D]]
func.func @forward_mode(%x: tensor<4xf32>, %t: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %d = graph.jvp @f(%x) tangents(%t) wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %y, %d : tensor<4xf32>, tensor<4xf32>
}

/// In reverse, what is linear in the tangents is transposed.
// LINEAR-LABEL: func.func @reverse_mode
//       LINEAR:   graph.transposed (%ct) {
//       LINEAR:     graph.mul
//  LINEAR-NEXT:     graph.yield
// PLAIN-LABEL: func.func @reverse_mode
//  PLAIN-NEXT:   %[[THREE:.+]] = graph.const dense<3.000000e+00>
//  PLAIN-NEXT:   %[[G:.+]] = graph.mul %ct, %[[THREE]]
//  PLAIN-NEXT:   return %[[G]]
func.func @reverse_mode(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> tensor<4xf32> {
  %y, %g = graph.vjp @f(%x) cotangents(%ct) wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %g : tensor<4xf32>
}

func.func private @scaled(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.broadcast %c to [] : tensor<f32> -> tensor<4xf32>
  %y = graph.mul %x, %s : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @scaled_forward(%c: tensor<f32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = graph.broadcast %c to [] : tensor<f32> -> tensor<4xf32>
  %y = graph.mul %x, %s : tensor<4xf32>
  %r = graph.cos %x : tensor<4xf32>
  return %y, %r : tensor<4xf32>, tensor<4xf32>
}
func.func private @scaled_reverse(%c: tensor<f32>, %r: tensor<4xf32>, %ct: tensor<4xf32>) -> tensor<4xf32> {
  %g = graph.mul %r, %ct : tensor<4xf32>
  return %g : tensor<4xf32>
}
// SYNTAX-LABEL: func.func @called
// SYNTAX: graph.custom_derivative @scaled consts(%c) args(%x) vjp @scaled_forward, @scaled_reverse : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
/// A call that nothing differentiates is the function.
// PLAIN-LABEL: func.func @called
//  PLAIN-NEXT:   graph.broadcast
//  PLAIN-NEXT:   graph.mul
//  PLAIN-NEXT:   return
func.func @called(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.custom_derivative @scaled consts(%c) args(%x) vjp @scaled_forward, @scaled_reverse : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

/// The function that is called is the forward rule; the region is transposed by calling the reverse one.
// LINEAR-LABEL: func.func @by_vjp
//       LINEAR:   %[[R:.+]] = graph.cos %x
//       LINEAR:   graph.transposed (%ct) {
//       LINEAR:   ^{{.*}}(%[[T:.+]]: tensor<4xf32>):
//       LINEAR:     graph.transpose_of @scaled_reverse fixed(%c, %[[R]]) args(%[[T]]) : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
// PLAIN-LABEL: func.func @by_vjp
//       PLAIN:   %[[R:.+]] = graph.cos %x
//       PLAIN:   %[[G:.+]] = graph.mul %[[R]], %ct
//       PLAIN:   return %[[G]]
func.func private @g(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.custom_derivative @scaled consts(%c) args(%x) vjp @scaled_forward, @scaled_reverse : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}
func.func @by_vjp(%c: tensor<f32>, %x: tensor<4xf32>, %ct: tensor<4xf32>) -> tensor<4xf32> {
  %y, %g = graph.vjp @g(%c, %x) cotangents(%ct) wrt [1] : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %g : tensor<4xf32>
}

/// In forward mode a call in a rule is its forward rule, and the transpose of its reverse rule.
// SYNTAX-LABEL: func.func private @in_rule
// SYNTAX: vjp @scaled_forward, @scaled_reverse in_rule : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
// LINEAR-LABEL: func.func @forward_of_reverse
//       LINEAR:   %[[R:.+]] = graph.cos %x
//       LINEAR:   %[[D:.+]] = graph.mul %t, %[[R]]
//       LINEAR:   return %[[D]]
func.func private @in_rule(%c: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.custom_derivative @scaled consts(%c) args(%x) vjp @scaled_forward, @scaled_reverse in_rule : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}
func.func @forward_of_reverse(%c: tensor<f32>, %x: tensor<4xf32>, %t: tensor<4xf32>) -> tensor<4xf32> {
  %y, %d = graph.jvp @in_rule(%c, %x) tangents(%t) wrt [1] : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %d : tensor<4xf32>
}

/// A batch is the same op over batched functions.
// BATCH-LABEL: func.func @batched
//       BATCH:   graph.custom_derivative @square_batched consts() args(%x) jvp @square_rule_batched : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
//       BATCH: func.func private @square_batched(%{{.+}}: tensor<3x4xf32>) -> tensor<3x4xf32>
func.func @batched(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %y = graph.vmap @f(%x) axes [0] : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
  return %y : tensor<3x4xf32>
}

/// With rules of both modes, forward mode takes the one, reverse mode the others: the tangent is 3 times, the gradient 5 times.
func.func private @square_forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = graph.mul %x, %x : tensor<4xf32>
  return %y, %x : tensor<4xf32>, tensor<4xf32>
}
func.func private @square_reverse(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> tensor<4xf32> {
  %five = graph.const dense<5.0> : tensor<4xf32>
  %g = graph.mul %ct, %five : tensor<4xf32>
  return %g : tensor<4xf32>
}
// SYNTAX-LABEL: func.func private @h
// SYNTAX: graph.custom_derivative @square consts() args(%x) jvp @square_rule vjp @square_forward, @square_reverse : (tensor<4xf32>) -> (tensor<4xf32>)
func.func private @h(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.custom_derivative @square consts() args(%x) jvp @square_rule vjp @square_forward, @square_reverse : (tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}
// PLAIN-LABEL: func.func @both_modes
//   PLAIN-DAG:   %[[FIVE:.+]] = graph.const dense<5.000000e+00>
//   PLAIN-DAG:   %[[G:.+]] = graph.mul %ct, %[[FIVE]]
//   PLAIN-DAG:   %[[THREE:.+]] = graph.const dense<3.000000e+00>
//   PLAIN-DAG:   %[[D:.+]] = graph.mul %ct, %[[THREE]]
//       PLAIN:   return %[[D]], %[[G]]
func.func @both_modes(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %d = graph.jvp @h(%x) tangents(%ct) wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %z, %g = graph.vjp @h(%x) cotangents(%ct) wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %d, %g : tensor<4xf32>, tensor<4xf32>
}
