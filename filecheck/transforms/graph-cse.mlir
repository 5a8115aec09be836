// RUN: lamina-opt %s -p graph-cse --split-input-file | filecheck %s

/// Equal ops become one, and with them what is computed from them.
// CHECK-LABEL: func.func @chain
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xf32>)
//  CHECK-NEXT:   %[[E:.+]] = graph.exp %[[X]]
//  CHECK-NEXT:   %[[N:.+]] = graph.neg %[[E]]
//  CHECK-NEXT:   %[[S:.+]] = graph.sub %[[N]], %[[N]]
//  CHECK-NEXT:   return %[[S]]
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.exp %x : tensor<4xf32>
  %b = graph.exp %x : tensor<4xf32>
  %c = graph.neg %a : tensor<4xf32>
  %d = graph.neg %b : tensor<4xf32>
  %s = graph.sub %c, %d : tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

/// x * y is y * x.
// CHECK-LABEL: func.func @commuted
//  CHECK-NEXT:   %[[P:.+]] = graph.mul
//  CHECK-NEXT:   graph.sub %[[P]], %[[P]]
func.func @commuted(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.mul %x, %y : tensor<4xf32>
  %b = graph.mul %y, %x : tensor<4xf32>
  %s = graph.sub %a, %b : tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

/// Equal constants are one; 0.0 and -0.0 are not equal.
// CHECK-LABEL: func.func @no_signed_zeros
//  CHECK-NEXT:   graph.const dense<0.000000e+00>
//  CHECK-NEXT:   graph.const dense<-0.000000e+00>
//  CHECK-NEXT:   return
func.func @no_signed_zeros() -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %a = graph.const dense<0.0> : tensor<f32>
  %b = graph.const dense<-0.0> : tensor<f32>
  %c = graph.const dense<0.0> : tensor<f32>
  return %a, %b, %c : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

/// x - y is not y - x; other dims are another reduction; another result shape is another broadcast.
// CHECK-LABEL: func.func @no_equals
// CHECK-COUNT-2: graph.sub
// CHECK-COUNT-2: graph.reduce
// CHECK-COUNT-2: graph.broadcast
func.func @no_equals(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>, %s: tensor<f32>)
    -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<4xf32>) {
  %a = graph.sub %x, %y : tensor<2x2xf32>
  %b = graph.sub %y, %x : tensor<2x2xf32>
  %c = graph.reduce add %x over [0] : tensor<2x2xf32> -> tensor<2xf32>
  %d = graph.reduce add %x over [1] : tensor<2x2xf32> -> tensor<2xf32>
  %e = graph.broadcast %s to [] : tensor<f32> -> tensor<3xf32>
  %f = graph.broadcast %s to [] : tensor<f32> -> tensor<4xf32>
  return %a, %b, %c, %d, %e, %f
    : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<4xf32>
}
