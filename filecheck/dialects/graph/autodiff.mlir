// RUN: lamina-opt %s --split-input-file | filecheck %s
// RUN: lamina-opt %s --split-input-file | lamina-opt --split-input-file | filecheck %s
// RUN: lamina-opt %s --split-input-file --print-op-generic | lamina-opt --split-input-file | filecheck %s

func.func private @f(%x: tensor<4xf32>, %n: tensor<2xi64>) -> (tensor<f32>, tensor<2xi64>) {
  %s = graph.reduce add %x over [0] : tensor<4xf32> -> tensor<f32>
  return %s, %n : tensor<f32>, tensor<2xi64>
}

/// All results, then one tangent for each float result.
// CHECK-LABEL: func.func @jvp
//       CHECK: graph.jvp @f(%{{.*}}, %{{.*}}) tangents(%{{.*}}) wrt [0] : (tensor<4xf32>, tensor<2xi64>, tensor<4xf32>) -> (tensor<f32>, tensor<2xi64>, tensor<f32>)
func.func @jvp(%x: tensor<4xf32>, %n: tensor<2xi64>, %t: tensor<4xf32>) -> tensor<f32> {
  %y, %m, %dy = graph.jvp @f(%x, %n) tangents(%t) wrt [0]
    : (tensor<4xf32>, tensor<2xi64>, tensor<4xf32>) -> (tensor<f32>, tensor<2xi64>, tensor<f32>)
  return %dy : tensor<f32>
}

/// One cotangent for each float result; all results, then one gradient for each operand in `wrt`.
// CHECK-LABEL: func.func @vjp
//       CHECK: graph.vjp @f(%{{.*}}, %{{.*}}) cotangents(%{{.*}}) wrt [0] : (tensor<4xf32>, tensor<2xi64>, tensor<f32>) -> (tensor<f32>, tensor<2xi64>, tensor<4xf32>)
func.func @vjp(%x: tensor<4xf32>, %n: tensor<2xi64>, %ct: tensor<f32>) -> tensor<4xf32> {
  %y, %m, %g = graph.vjp @f(%x, %n) cotangents(%ct) wrt [0]
    : (tensor<4xf32>, tensor<2xi64>, tensor<f32>) -> (tensor<f32>, tensor<2xi64>, tensor<4xf32>)
  return %g : tensor<4xf32>
}

/// Results are stacked along a new first dim.
// CHECK-LABEL: func.func @vmap
//       CHECK: graph.vmap @f(%{{.*}}, %{{.*}}) axes [1, -1] : (tensor<4x8xf32>, tensor<2xi64>) -> (tensor<8xf32>, tensor<8x2xi64>)
func.func @vmap(%x: tensor<4x8xf32>, %n: tensor<2xi64>) -> tensor<8xf32> {
  %y, %m = graph.vmap @f(%x, %n) axes [1, -1] : (tensor<4x8xf32>, tensor<2xi64>) -> (tensor<8xf32>, tensor<8x2xi64>)
  return %y : tensor<8xf32>
}

/// The region is the linear map; it may use values from outside.
// CHECK-LABEL: func.func @transposed
//       CHECK: graph.transposed (%{{.*}}) {
//       CHECK: ^bb0(%[[T:.+]]: tensor<4xf32>):
//       CHECK:   graph.mul %[[T]], %{{.*}} : tensor<4xf32>
//       CHECK:   graph.yield %{{.*}} : tensor<4xf32>
//       CHECK: } : (tensor<4xf32>) -> (tensor<4xf32>)
func.func @transposed(%ct: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %g = graph.transposed (%ct) {
  ^bb0(%t: tensor<4xf32>):
    %d = graph.mul %t, %w : tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>)
  return %g : tensor<4xf32>
}

// CHECK-LABEL: func.func @stop
//       CHECK: graph.stop_gradient %{{.*}} : tensor<4xf32>
func.func @stop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.stop_gradient %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
