// RUN: lamina-opt %s --convert-graph-to-stablehlo --split-input-file --verify-diagnostics | filecheck %s

/// Ops of one meaning have another name.
// CHECK-LABEL: @layer
//  CHECK-SAME:   (%[[X:.+]]: tensor<3x4xf32>, %[[W:.+]]: tensor<4x5xf32>)
//  CHECK-NEXT:   %[[D:.+]] = stablehlo.dot_general %[[X]], %[[W]], contracting_dims = [1] x [0]
//  CHECK-NEXT:   %[[T:.+]] = stablehlo.tanh %[[D]]
//  CHECK-NEXT:   return %[[T]]
func.func @layer(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %0 = graph.dot %x, %w contract [1] with [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = graph.tanh %0 : tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// -----

/// A reduction has its initial value and a region.
// CHECK-LABEL: @sum
//       CHECK:   %[[C:.+]] = stablehlo.constant dense<0.000000e+00>
//       CHECK:   "stablehlo.reduce"(%{{.+}}, %[[C]]) <{dimensions = array<i64: 1>}>
//       CHECK:     stablehlo.add
func.func @sum(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = graph.reduce add %x over [1] : tensor<2x3xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

/// Division of integers is 0 where the divisor is.
// CHECK-LABEL: @quotient
//       CHECK:   stablehlo.compare EQ
//       CHECK:   stablehlo.divide
//       CHECK:   stablehlo.select
func.func @quotient(%x: tensor<3xi32>, %y: tensor<3xi32>) -> tensor<3xi32> {
  %0 = graph.div %x, %y : tensor<3xi32>
  return %0 : tensor<3xi32>
}

// -----

/// A counted loop is a while with a number.
// CHECK-LABEL: @loop
//       CHECK:   "stablehlo.while"
//       CHECK:     stablehlo.compare LT
//       CHECK:     func.call @body
func.func private @body(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.for @body count 10 consts() carry(%x) over() : (tensor<4xf32>) -> (tensor<4xf32>)
  return %0 : tensor<4xf32>
}

// -----

/// Functions of StableHLO stay as they are.
// CHECK-LABEL: @no_graph_op
//  CHECK-NEXT:   stablehlo.negate
func.func @no_graph_op(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

/// Factorizations are calls of LAPACK, whose matrices are stored by columns and whose rows count from 1.
// CHECK-LABEL: @pivots
//       CHECK:   call_target_name = "lapack_sgetrf_ffi"
//  CHECK-SAME:   operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]
//       CHECK:   %[[ONE:.*]] = stablehlo.broadcast_in_dim
//       CHECK:   stablehlo.subtract %{{.*}}, %[[ONE]] : tensor<2x3xi32>
func.func @pivots(%x: tensor<2x3x3xf32>) -> tensor<2x3xi32> {
  %0, %1 = graph.lu %x : tensor<2x3x3xf32> -> (tensor<2x3x3xf32>, tensor<2x3xi32>)
  return %1 : tensor<2x3xi32>
}

// -----

func.func @printed(%x: tensor<3x3xf32>) {
  // expected-error@+1 {{'graph.print' op has no form in StableHLO}}
  graph.print "{0}"(%x) : (tensor<3x3xf32>) -> ()
  return
}
