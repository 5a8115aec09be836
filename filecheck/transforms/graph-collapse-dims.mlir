// RUN: lamina-opt %s -p graph-collapse-dims | filecheck %s
// RUN: lamina-opt %s -p graph-collapse-dims --validate-each > /dev/null

/// All dims of an elementwise kernel are one loop.
// CHECK-LABEL: @elementwise
//       CHECK:   graph.fusion (%a = %x : tensor<3x4xf32> as tensor<12xf32>) -> tensor<3x4xf32> {
//  CHECK-NEXT:     graph.exp %a : tensor<12xf32>
//  CHECK-NEXT:     graph.yield %{{.*}} : tensor<12xf32>
func.func @elementwise(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = graph.fusion (%a = %x : tensor<3x4xf32>) -> tensor<3x4xf32> {
    %1 = graph.exp %a : tensor<3x4xf32>
    graph.yield %1 : tensor<3x4xf32>
  }
  return %0 : tensor<3x4xf32>
}

/// Dims that are reduced are one, those that are kept another; a dim of size 1 goes, and the reshape that adds it.
// CHECK-LABEL: @channels
//       CHECK:   graph.fusion (%a = %x : tensor<2x3x4x5xf32> as tensor<6x20xf32>) -> tensor<2x3x1xf32> {
//  CHECK-NEXT:     graph.reduce add %a over [1] : tensor<6x20xf32> -> tensor<6xf32>
//  CHECK-NEXT:     graph.yield %{{.*}} : tensor<6xf32>
func.func @channels(%x: tensor<2x3x4x5xf32>) -> tensor<2x3x1xf32> {
  %0 = graph.fusion (%a = %x : tensor<2x3x4x5xf32>) -> tensor<2x3x1xf32> {
    %1 = graph.reduce add %a over [2, 3] : tensor<2x3x4x5xf32> -> tensor<2x3xf32>
    %2 = graph.reshape %1 : tensor<2x3xf32> -> tensor<2x3x1xf32>
    graph.yield %2 : tensor<2x3x1xf32>
  }
  return %0 : tensor<2x3x1xf32>
}

/// An order of loops is that of the new dims.
// CHECK-LABEL: @ordered
//       CHECK:   graph.fusion (%a = %x : tensor<6x2x4xf32> as tensor<6x8xf32>) -> tensor<6x2x4xf32> order [1, 0] {
func.func @ordered(%x: tensor<6x2x4xf32>) -> tensor<6x2x4xf32> {
  %0 = graph.fusion (%a = %x : tensor<6x2x4xf32>) -> tensor<6x2x4xf32> order [1, 2, 0] {
    %1 = graph.reduce add %a over [0] : tensor<6x2x4xf32> -> tensor<2x4xf32>
    %2 = graph.broadcast %1 to [1, 2] : tensor<2x4xf32> -> tensor<6x2x4xf32>
    %3 = graph.div %a, %2 : tensor<6x2x4xf32>
    graph.yield %3 : tensor<6x2x4xf32>
  }
  return %0 : tensor<6x2x4xf32>
}

/// Dims that it sets apart stay two, and so does an order of which nothing is left.
// CHECK-LABEL: @no_dims_whose_loops_are_apart
//       CHECK:   graph.fusion (%a = %x : tensor<6x2x4xf32> as tensor<12x4xf32>) -> tensor<6x2x4xf32> order [1, 0] {
//       CHECK:   graph.fusion (%a = %{{.*}} : tensor<6x1xf32> as tensor<6xf32>) -> tensor<6x1xf32> {
func.func @no_dims_whose_loops_are_apart(%x: tensor<6x2x4xf32>, %y: tensor<6x1xf32>) -> (tensor<6x2x4xf32>, tensor<6x1xf32>) {
  %0 = graph.fusion (%a = %x : tensor<6x2x4xf32>) -> tensor<6x2x4xf32> order [2, 0, 1] {
    %1 = graph.exp %a : tensor<6x2x4xf32>
    graph.yield %1 : tensor<6x2x4xf32>
  }
  %2 = graph.fusion (%a = %y : tensor<6x1xf32>) -> tensor<6x1xf32> order [1, 0] {
    %3 = graph.exp %a : tensor<6x1xf32>
    graph.yield %3 : tensor<6x1xf32>
  }
  return %0, %2 : tensor<6x2x4xf32>, tensor<6x1xf32>
}

/// Prologues are stored over fewer dims, too.
// CHECK-LABEL: @prologues
//       CHECK:   graph.fusion (%a = %x : tensor<2x4x3xf32> as tensor<8x3xf32>, %b = %w : tensor<3x5xf32>) -> tensor<2x4x1x5xf32> prologues 2 {
//  CHECK-NEXT:     %[[EXP:.+]] = graph.exp %b
//  CHECK-NEXT:     %[[NEG:.+]] = graph.neg %a
//  CHECK-NEXT:     %[[DOT:.+]] = graph.dot
//  CHECK-NEXT:     graph.yield %[[DOT]], %[[NEG]], %[[EXP]] : tensor<8x5xf32>, tensor<8x3xf32>, tensor<3x5xf32>
func.func @prologues(%x: tensor<2x4x3xf32>, %w: tensor<3x5xf32>) -> tensor<2x4x1x5xf32> {
  %0 = graph.fusion (%a = %x : tensor<2x4x3xf32>, %b = %w : tensor<3x5xf32>) -> tensor<2x4x1x5xf32> prologues 2 {
    %1 = graph.exp %b : tensor<3x5xf32>
    %2 = graph.reshape %a : tensor<2x4x3xf32> -> tensor<2x4x1x3xf32>
    %3 = graph.neg %2 : tensor<2x4x1x3xf32>
    %4 = graph.dot %3, %1 contract [3] with [0] : (tensor<2x4x1x3xf32>, tensor<3x5xf32>) -> tensor<2x4x1x5xf32>
    graph.yield %4, %3, %1 : tensor<2x4x1x5xf32>, tensor<2x4x1x3xf32>, tensor<3x5xf32>
  }
  return %0 : tensor<2x4x1x5xf32>
}

/// A bias has a dim without the one before it: the two stay apart.
// CHECK-LABEL: @no_dims_that_an_op_tells_apart
//       CHECK:   graph.fusion (%a = %x : tensor<3x4xf32>, %c = %b : tensor<4xf32>) -> tensor<3x4xf32> {
func.func @no_dims_that_an_op_tells_apart(%x: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = graph.fusion (%a = %x : tensor<3x4xf32>, %c = %b : tensor<4xf32>) -> tensor<3x4xf32> {
    %1 = graph.broadcast %c to [1] : tensor<4xf32> -> tensor<3x4xf32>
    %2 = graph.add %a, %1 : tensor<3x4xf32>
    graph.yield %2 : tensor<3x4xf32>
  }
  return %0 : tensor<3x4xf32>
}

/// Dims of symbolic size are not merged.
// CHECK-LABEL: @no_open_sizes
//       CHECK:   graph.fusion (%a = %x : tensor<?x4xf32>) -> tensor<?x4xf32> {
func.func @no_open_sizes(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = graph.fusion (%a = %x : tensor<?x4xf32>) -> tensor<?x4xf32> {
    %1 = graph.exp %a : tensor<?x4xf32>
    graph.yield %1 : tensor<?x4xf32>
  }
  return %0 : tensor<?x4xf32>
}

/// A batch dim of size 1 goes, and is named no more.
// CHECK-LABEL: @product_with_a_unit_batch
//       CHECK:   graph.dot %a, %{{.+}} contract [1] with [1] : (tensor<27x3xf32>, tensor<3x3xf32>) -> tensor<27x3xf32>
func.func @product_with_a_unit_batch(%x: tensor<9x1x3x3xf32>, %w: tensor<1x3x3xf32>) -> tensor<1x9x3x3xf32> {
  %0 = graph.fusion (%a = %x : tensor<9x1x3x3xf32>, %c = %w : tensor<1x3x3xf32>) -> tensor<1x9x3x3xf32> {
    %1 = graph.neg %c : tensor<1x3x3xf32>
    %2 = graph.dot %a, %1 batch [1] with [0] contract [3] with [2] : (tensor<9x1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x9x3x3xf32>
    graph.yield %2 : tensor<1x9x3x3xf32>
  }
  return %0 : tensor<1x9x3x3xf32>
}
