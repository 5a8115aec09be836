// RUN: lamina-opt %s -p canonicalize --split-input-file | filecheck %s
// RUN: lamina-opt %s -p graph-simplify --split-input-file | filecheck %s

/// Movement that is undone is none.
// CHECK-LABEL: func.func @movement
//  CHECK-SAME:   (%[[X:.+]]: tensor<2x3xf32>)
//  CHECK-NEXT:   return %[[X]], %[[X]], %[[X]]
func.func @movement(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %a = graph.transpose %x perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %b = graph.transpose %a perm [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %c = graph.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  %d = graph.reshape %c : tensor<6xf32> -> tensor<2x3xf32>
  %e = graph.concat %x along 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %f = graph.slice %e start [0, 0] stop [2, 3] step [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return %b, %d, %f : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

/// Of two reversals those dims stay that only one of them reverses.
// CHECK-LABEL: func.func @reversals
//  CHECK-SAME:   (%[[X:.+]]: tensor<2x3xf32>)
//  CHECK-NEXT:   %[[R:.+]] = graph.reverse %[[X]] dims [0] : tensor<2x3xf32>
//  CHECK-NEXT:   return %[[R]]
func.func @reversals(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = graph.reverse %x dims [0, 1] : tensor<2x3xf32>
  %b = graph.reverse %a dims [1] : tensor<2x3xf32>
  return %b : tensor<2x3xf32>
}

// -----

/// Bits: neutral elements go, and xor with all ones is not.
// CHECK-LABEL: func.func @bits
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xi32>)
//  CHECK-NEXT:   %[[N:.+]] = graph.not %[[X]] : tensor<4xi32>
//  CHECK-NEXT:   return %[[X]], %[[N]]
func.func @bits(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %zero = graph.const dense<0> : tensor<4xi32>
  %ones = graph.const dense<-1> : tensor<4xi32>
  %a = graph.and %x, %ones : tensor<4xi32>
  %b = graph.or %zero, %a : tensor<4xi32>
  %c = graph.xor %b, %zero : tensor<4xi32>
  %d = graph.xor %c, %ones : tensor<4xi32>
  return %c, %d : tensor<4xi32>, tensor<4xi32>
}

// -----

/// Integers are equal to themselves, and max with the minimum changes nothing.
// CHECK-LABEL: func.func @integers
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xi32>)
//  CHECK-NEXT:   return %[[X]]
func.func @integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  %least = graph.const dense<-2147483648> : tensor<4xi32>
  %m = graph.max %x, %least : tensor<4xi32>
  %same = graph.cmp eq %m, %m : tensor<4xi32>
  %y = graph.select %same, %m, %least : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

/// A choice between true and false is the condition.
// CHECK-LABEL: func.func @truths
//  CHECK-SAME:   (%[[C:.+]]: tensor<4xi1>)
//  CHECK-NEXT:   %[[N:.+]] = graph.not %[[C]] : tensor<4xi1>
//  CHECK-NEXT:   return %[[C]], %[[N]]
func.func @truths(%c: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {
  %true = graph.const dense<true> : tensor<4xi1>
  %false = graph.const dense<false> : tensor<4xi1>
  %a = graph.select %c, %true, %false : (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %b = graph.select %c, %false, %true : (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %a, %b : tensor<4xi1>, tensor<4xi1>
}

// -----

/// Constants fold.
// CHECK-LABEL: func.func @constants
//  CHECK-NEXT:   %[[C:.+]] = graph.const dense<[4, 6]> : tensor<2xi32>
//  CHECK-NEXT:   return %[[C]]
func.func @constants() -> tensor<2xi32> {
  %x = graph.const dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %y = graph.reduce add %x over [0] : tensor<2x2xi32> -> tensor<2xi32>
  return %y : tensor<2xi32>
}

// -----

/// A constant that would be large is not made.
// CHECK-LABEL: func.func @no_large_constant
//       CHECK:   graph.pad
func.func @no_large_constant() -> tensor<5000xf32> {
  %x = graph.const dense<[1.0, 2.0]> : tensor<2xf32>
  %v = graph.const dense<0.0> : tensor<f32>
  %y = graph.pad %x, %v low [0] high [4998] interior [0] : (tensor<2xf32>, tensor<f32>) -> tensor<5000xf32>
  return %y : tensor<5000xf32>
}

// -----

/// NaN is not equal to itself.
// CHECK-LABEL: func.func @no_equal_floats
//  CHECK-NEXT:   graph.cmp eq
func.func @no_equal_floats(%x: tensor<4xf32>) -> tensor<4xi1> {
  %c = graph.cmp eq %x, %x : tensor<4xf32>
  return %c : tensor<4xi1>
}

// -----

/// How often `?` repeats is not known, nor what padding by it leaves.
// CHECK-LABEL: func.func @no_unknown_sizes
//       CHECK:   graph.broadcast
//       CHECK:   graph.reduce add
//       CHECK:   graph.pad
func.func @no_unknown_sizes(%x: tensor<3xf32>, %y: tensor<?xf32>, %v: tensor<f32>) -> (tensor<3xf32>, tensor<?xf32>) {
  %b = graph.broadcast %x to [1] : tensor<3xf32> -> tensor<?x3xf32>
  %s = graph.reduce add %b over [0] : tensor<?x3xf32> -> tensor<3xf32>
  %p = graph.pad %y, %v low [-1] high [-1] interior [0] : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  return %s, %p : tensor<3xf32>, tensor<?xf32>
}
