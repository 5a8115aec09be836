// RUN: lamina-opt %s > %t && lamina-opt %t | diff %t - && lamina-opt %t --print-op-generic | lamina-opt | diff %t -
// RUN: lamina-opt %s | filecheck %s

/// Custom syntax: what is printed is what was read, and the generic form means the same.

// CHECK-LABEL: @create
//  CHECK-NEXT:   graph.const dense<[1.000000e+00, -0.000000e+00, 0x7F800000]> : tensor<3xf32>
//  CHECK-NEXT:   graph.const dense<true> : tensor<i1>
//  CHECK-NEXT:   graph.iota along 1 : tensor<2x3xi64>
func.func @create() {
  %0 = graph.const dense<[1.0, -0.0, 0x7F800000]> : tensor<3xf32>
  %1 = graph.const dense<true> : tensor<i1>
  %2 = graph.iota along 1 : tensor<2x3xi64>
  return
}

// CHECK-LABEL: @elementwise
//       CHECK:   graph.tanh %x : tensor<4xf32>
//  CHECK-NEXT:   graph.max %x, %{{.*}} : tensor<4xf32>
//  CHECK-NEXT:   graph.cmp le %x, %{{.*}} : tensor<4xf32>
//  CHECK-NEXT:   graph.select %{{.*}}, %x, %{{.*}} : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
//  CHECK-NEXT:   graph.convert %{{.*}} : tensor<4xf32> -> tensor<4xi32>
func.func @elementwise(%x: tensor<4xf32>) {
  %0 = graph.tanh %x : tensor<4xf32>
  %1 = graph.max %x, %0 : tensor<4xf32>
  %2 = graph.cmp le %x, %1 : tensor<4xf32>
  %3 = graph.select %2, %x, %1 : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.convert %3 : tensor<4xf32> -> tensor<4xi32>
  return
}

// CHECK-LABEL: @bits
//       CHECK:   graph.shl %x, %x : tensor<4xui32>
//  CHECK-NEXT:   graph.shr %x, %{{.*}} : tensor<4xui32>
//  CHECK-NEXT:   graph.popcount %{{.*}} : tensor<4xui32>
//  CHECK-NEXT:   graph.clz %{{.*}} : tensor<4xui32>
//  CHECK-NEXT:   graph.threefry2x32 xor %x, %x, %{{.*}}, %{{.*}} : tensor<4xui32>
//  CHECK-NEXT:   graph.bitcast %{{.*}} : tensor<4xui32> -> tensor<4xf32>
//  CHECK-NEXT:   graph.erf_inv %{{.*}} : tensor<4xf32>
func.func @bits(%x: tensor<4xui32>) {
  %0 = graph.shl %x, %x : tensor<4xui32>
  %1 = graph.shr %x, %0 : tensor<4xui32>
  %2 = graph.popcount %1 : tensor<4xui32>
  %3 = graph.clz %2 : tensor<4xui32>
  %4 = graph.threefry2x32 xor %x, %x, %2, %3 : tensor<4xui32>
  %5 = graph.bitcast %4 : tensor<4xui32> -> tensor<4xf32>
  %6 = graph.erf_inv %5 : tensor<4xf32>
  return
}

/// Sizes may be open.
// CHECK-LABEL: @shape
//       CHECK:   graph.reshape %x : tensor<2x6xf32> -> tensor<3x4xf32>
//  CHECK-NEXT:   graph.transpose %x perm [1, 0] : tensor<2x6xf32> -> tensor<6x2xf32>
//  CHECK-NEXT:   graph.broadcast %x to [0, 2] : tensor<2x6xf32> -> tensor<2x5x6xf32>
//  CHECK-NEXT:   graph.slice %x start [0, 1] stop [2, 6] step [1, 2] : tensor<2x6xf32> -> tensor<2x3xf32>
//  CHECK-NEXT:   graph.concat %x, %x along 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
//  CHECK-NEXT:   graph.pad %x, %v low [1, -1] high [0, 0] interior [0, 1] : (tensor<2x6xf32>, tensor<f32>) -> tensor<3x10xf32>
//  CHECK-NEXT:   graph.reverse %o dims [1] : tensor<?x6xf32>
func.func @shape(%x: tensor<2x6xf32>, %v: tensor<f32>, %o: tensor<?x6xf32>) {
  %0 = graph.reshape %x : tensor<2x6xf32> -> tensor<3x4xf32>
  %1 = graph.transpose %x perm [1, 0] : tensor<2x6xf32> -> tensor<6x2xf32>
  %2 = graph.broadcast %x to [0, 2] : tensor<2x6xf32> -> tensor<2x5x6xf32>
  %3 = graph.slice %x start [0, 1] stop [2, 6] step [1, 2] : tensor<2x6xf32> -> tensor<2x3xf32>
  %4 = graph.concat %x, %x along 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
  %5 = graph.pad %x, %v low [1, -1] high [0, 0] interior [0, 1] : (tensor<2x6xf32>, tensor<f32>) -> tensor<3x10xf32>
  %6 = graph.reverse %o dims [1] : tensor<?x6xf32>
  return
}

/// Groups of dims that are empty are left out.
// CHECK-LABEL: @contract
//       CHECK:   graph.reduce add %x over [0, 1] : tensor<2x3xf32> -> tensor<f32>
//  CHECK-NEXT:   graph.argmax %x along 1 : tensor<2x3xf32> -> tensor<2xi64>
//  CHECK-NEXT:   graph.dot %x, %x contract [1] with [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
//  CHECK-NEXT:   graph.dot %x, %x batch [0] with [0] contract [1] with [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
//  CHECK-NEXT:   graph.dot %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x2x3xf32>
func.func @contract(%x: tensor<2x3xf32>) {
  %0 = graph.reduce add %x over [0, 1] : tensor<2x3xf32> -> tensor<f32>
  %1 = graph.argmax %x along 1 : tensor<2x3xf32> -> tensor<2xi64>
  %2 = graph.dot %x, %x contract [1] with [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %3 = graph.dot %x, %x batch [0] with [0] contract [1] with [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  %4 = graph.dot %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x2x3xf32>
  return
}

// CHECK-LABEL: @composite
//       CHECK:   graph.softmax %x over [1] : tensor<2x3xf32>
//  CHECK-NEXT:   graph.logsumexp %x over [0] : tensor<2x3xf32> -> tensor<3xf32>
//  CHECK-NEXT:   graph.var %x over [0, 1] correction 1 : tensor<2x3xf32> -> tensor<f32>
//  CHECK-NEXT:   graph.gelu %x approximate tanh : tensor<2x3xf32>
//  CHECK-NEXT:   graph.cross_entropy %x, %l : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<f32>
func.func @composite(%x: tensor<2x3xf32>, %l: tensor<2xi64>) {
  %0 = graph.softmax %x over [1] : tensor<2x3xf32>
  %1 = graph.logsumexp %x over [0] : tensor<2x3xf32> -> tensor<3xf32>
  %2 = graph.var %x over [0, 1] correction 1 : tensor<2x3xf32> -> tensor<f32>
  %3 = graph.gelu %x approximate tanh : tensor<2x3xf32>
  %4 = graph.cross_entropy %x, %l : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<f32>
  return
}

// CHECK-LABEL: @attention
//       CHECK:   graph.attention %q, %k, %v mask causal scale 5.000000e-01 : f64 : (tensor<2x5x4xf32>, tensor<1x7x4xf32>, tensor<1x7x3xf32>) -> tensor<2x5x3xf32>
//  CHECK-NEXT:   graph.attention %q, %k, %v, %seen mask none scale 1.000000e+00 : f64 : (tensor<2x5x4xf32>, tensor<1x7x4xf32>, tensor<1x7x3xf32>, tensor<1x5x7xi1>) -> tensor<2x5x3xf32>
func.func @attention(%q: tensor<2x5x4xf32>, %k: tensor<1x7x4xf32>, %v: tensor<1x7x3xf32>, %seen: tensor<1x5x7xi1>) {
  %0 = graph.attention %q, %k, %v mask causal scale 0.5 : f64
    : (tensor<2x5x4xf32>, tensor<1x7x4xf32>, tensor<1x7x3xf32>) -> tensor<2x5x3xf32>
  %1 = graph.attention %q, %k, %v, %seen mask none scale 1.0 : f64
    : (tensor<2x5x4xf32>, tensor<1x7x4xf32>, tensor<1x7x3xf32>, tensor<1x5x7xi1>) -> tensor<2x5x3xf32>
  return
}

// CHECK-LABEL: @norms
//       CHECK:   graph.layer_norm %x over [1] epsilon 1.000000e-05 : f64 : tensor<2x3xf32>
//  CHECK-NEXT:   graph.rms_norm %x over [0, 1] epsilon 5.000000e-01 : f64 : tensor<2x3xf32>
//  CHECK-NEXT:   graph.batch_norm %x, %m, %v, %w, %b along 1 epsilon 5.000000e-01 : f64 : (tensor<2x3xf32>, tensor<3xf32>
func.func @norms(%x: tensor<2x3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>, %w: tensor<3xf32>, %b: tensor<3xf32>) {
  %0 = graph.layer_norm %x over [1] epsilon 1.0e-05 : f64 : tensor<2x3xf32>
  %1 = graph.rms_norm %x over [0, 1] epsilon 0.5 : f64 : tensor<2x3xf32>
  %2 = graph.batch_norm %x, %m, %v, %w, %b along 1 epsilon 0.5 : f64
    : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @fusion
//       CHECK:   graph.fusion (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
//  CHECK-NEXT:     graph.neg %a : tensor<4xf32>
//  CHECK-NEXT:     graph.yield %{{.*}} : tensor<4xf32>
func.func @fusion(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.fusion (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %1 = graph.neg %a : tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

/// In which loops a fusion computes; arguments and results under another shape.
// CHECK-LABEL: @planned_fusion
//       CHECK:   graph.fusion (%a = %x : tensor<2x4x3xf32> as tensor<8x3xf32>, %b = %w : tensor<3x5xf32>) -> tensor<2x4x5xf32> order [1, 0] prologues 2 {
//       CHECK:     graph.yield %{{.*}}, %{{.*}}, %{{.*}} : tensor<8x5xf32>, tensor<8x3xf32>, tensor<3x5xf32>
func.func @planned_fusion(%x: tensor<2x4x3xf32>, %w: tensor<3x5xf32>) -> tensor<2x4x5xf32> {
  %0 = graph.fusion (%a = %x : tensor<2x4x3xf32> as tensor<8x3xf32>, %b = %w : tensor<3x5xf32>) -> tensor<2x4x5xf32> order [1, 0]
      prologues 2 {
    %1 = graph.exp %b : tensor<3x5xf32>
    %2 = graph.neg %a : tensor<8x3xf32>
    %3 = graph.dot %2, %1 contract [1] with [0] : (tensor<8x3xf32>, tensor<3x5xf32>) -> tensor<8x5xf32>
    graph.yield %3, %2, %1 : tensor<8x5xf32>, tensor<8x3xf32>, tensor<3x5xf32>
  }
  return %0 : tensor<2x4x5xf32>
}
