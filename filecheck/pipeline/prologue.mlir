// RUN: lamina-opt %s -p graph-fuse | filecheck %s --check-prefix=GRAPH
// RUN: lamina-opt %s --compile-to=loop | filecheck %s --check-prefix=LOOP
// RUN: lamina-opt %s --compile-to=scheduled | filecheck %s

// What an elementwise op makes of an operand of a product is part of its kernel. The loop form stores it first; the default
// schedule computes it where the operand is packed, and it is stored nowhere else.

// LOOP-LABEL: loop.kernel @mul_dot
// LOOP: %[[SCALED:.*]] = loop.alloc scratch : memref<256x256xf32>
// LOOP: loop.store %{{.*}}, %[[SCALED]][
// LOOP: loop.for reduce<add>
// LOOP: loop.load %[[SCALED]][

// CHECK-LABEL: loop.kernel @mul_dot
// CHECK-NOT: memref<256x256xf32>{{$}}
// CHECK: %[[PACKED:.*]] = loop.alloc scratch
// CHECK: %[[W:.*]] = loop.load %w[
// CHECK: %[[S:.*]] = loop.load %s[
// CHECK: %[[C:.*]] = arith.mulf %[[W]], %[[S]]
// CHECK: loop.store %[[C]], %[[PACKED]][
// CHECK: loop.for reduce<add>
// CHECK-NOT: loop.load %w[
// CHECK-NOT: loop.load %s[

// GRAPH: graph.fusion
// GRAPH: graph.mul
// GRAPH: graph.dot
// GRAPH-NOT: graph.fusion
func.func @main(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>, %s: tensor<256xf32>) -> tensor<256x256xf32> {
  %columns = graph.broadcast %s to [1] : tensor<256xf32> -> tensor<256x256xf32>
  %scaled = graph.mul %w, %columns : tensor<256x256xf32>
  %y = graph.dot %x, %scaled contract [1] with [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  func.return %y : tensor<256x256xf32>
}
