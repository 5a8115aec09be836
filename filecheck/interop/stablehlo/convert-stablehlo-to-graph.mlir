// RUN: lamina-opt %s --convert-stablehlo-to-graph --split-input-file --verify-diagnostics | filecheck %s

/// A called function stays a function; ops become graph ops with inferred types.
// CHECK-LABEL: func.func private @relu
//       CHECK:   graph.max
// CHECK-LABEL: func.func public @main
//  CHECK-SAME:   (%[[X:.+]]: tensor<3x4xf32>, %[[W:.+]]: tensor<4x5xf32>)
//  CHECK-NEXT:   %[[D:.+]] = graph.dot %[[X]], %[[W]] contract [1] with [0]
//  CHECK-NEXT:   %[[R:.+]] = func.call @relu(%[[D]])
//  CHECK-NEXT:   return %[[R]]
module @jit_layer attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>) -> (tensor<3x5xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    %1 = call @relu(%0) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    return %1 : tensor<3x5xf32>
  }
  func.func private @relu(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %1 = stablehlo.maximum %x, %0 : tensor<3x5xf32>
    return %1 : tensor<3x5xf32>
  }
}

// -----

/// The generic form is the same op.
// CHECK-LABEL: @generic
//       CHECK:   graph.transpose %{{.+}} perm [1, 0]
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3xf32>) -> tensor<3x2xf32>, sym_name = "generic", sym_visibility = "public"}> ({
  ^bb0(%x: tensor<2x3xf32>):
    %0 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
    "func.return"(%0) : (tensor<3x2xf32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

/// A reduction by a region of one op is a reduction of the graph.
// CHECK-LABEL: @sum
//       CHECK:   graph.reduce add %{{.+}} over [1]
func.func @sum(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

/// The regions of a loop are functions.
// CHECK-LABEL: @loop
//       CHECK:   graph.while
func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.while(%i = %c, %y = %x) : tensor<i64>, tensor<4xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i64>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %one : tensor<i64>
    %z = stablehlo.add %y, %y : tensor<4xf32>
    stablehlo.return %j, %z : tensor<i64>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// -----

/// A comparator of one key is a sort by that key.
// CHECK-LABEL: @sorted
//       CHECK:   graph.sort
func.func @sorted(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

/// Functions of graph ops stay as they are.
/// Quantized numbers are their integers; an op is that of the numbers, rounded and bounded.
// CHECK-LABEL: func.func public @quantized
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xui8>) -> tensor<4xi8>
//       CHECK:   %[[I:.+]] = graph.convert %[[X]] : tensor<4xui8> -> tensor<4xi32>
//       CHECK:   graph.sub %[[I]], %{{.+}} : tensor<4xi32>
//       CHECK:   graph.tanh %{{.+}} : tensor<4xf32>
//       CHECK:   graph.rint
//       CHECK:   %[[Y:.+]] = graph.convert %{{.+}} : tensor<4xi32> -> tensor<4xi8>
//       CHECK:   return %[[Y]]
func.func @quantized(%x: tensor<4x!quant.uniform<u8:f32, 0.5:128>>) -> tensor<4x!quant.uniform<i8<-127:127>:f32, 0.0078125>> {
  %0 = stablehlo.tanh %x
    : (tensor<4x!quant.uniform<u8:f32, 0.5:128>>) -> tensor<4x!quant.uniform<i8<-127:127>:f32, 0.0078125>>
  return %0 : tensor<4x!quant.uniform<i8<-127:127>:f32, 0.0078125>>
}

// -----

// CHECK-LABEL: func.func @no_foreign_op
//  CHECK-NEXT:   graph.neg
func.func @no_foreign_op(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.custom_call' op calls @mystery, which is not known here}}
  %0 = stablehlo.custom_call @mystery(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @shapes(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error@+1 {{has a result of shape [4], its type is tensor<5xf32>}}
  %0 = stablehlo.negate %x : (tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

// expected-error@+1 {{@open argument 0 has sizes that are not known}}
func.func @open(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.negate %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
