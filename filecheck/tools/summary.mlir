// RUN: lamina-opt %s --summary | filecheck %s
// RUN: lamina-opt %s --compile-to=loop | lamina-opt --summary | filecheck %s --check-prefix=LOOP
// RUN: not lamina-opt %s --summary --dim n=3 2>&1 | filecheck %s --check-prefix=DIM

// CHECK:      6 ops: 2 dot, 1 broadcast, 1 add, 1 tanh, 1 exp
// CHECK-NEXT: 1.06 KiB of parameters
// CHECK:      layer {{ *}}kernel {{ *}}parameters {{ *}}flops {{ *}}memory
// CHECK:      {{.*}}summary.mlir:{{[0-9]+ +}} dot_add_tanh {{ *}}144 {{ *}}1.15 k {{ *}}256 B
// CHECK:      total {{ *}}2 steps {{ *}}272

// LOOP: total

// DIM: error: --dim is for models of ONNX

func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w = graph.const dense<0.5> : tensor<8x16xf32>
  %v = graph.const dense<0.25> : tensor<16x8xf32>
  %b = graph.const dense<2.0> : tensor<16xf32>
  %0 = graph.dot %x, %w contract [1] with [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = graph.broadcast %b to [1] : tensor<16xf32> -> tensor<4x16xf32>
  %2 = graph.add %0, %1 : tensor<4x16xf32>
  %3 = graph.tanh %2 : tensor<4x16xf32>
  %4 = graph.dot %3, %v contract [1] with [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %5 = graph.exp %4 : tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}
