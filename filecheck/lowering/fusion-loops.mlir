// RUN: lamina-opt %s -p convert-graph-to-loop --split-input-file | filecheck %s
// RUN: lamina-opt %s -p graph-collapse-dims,convert-graph-to-loop --split-input-file --validate-each > /dev/null

/// The loops of a kernel are those that its fusion says: whoever edits the properties gets other loops.

/// Without them: the dims in their order, everything computed where it is read. The sum is computed again for each row.
// CHECK-LABEL: loop.kernel @reduce_div
//       CHECK:   loop.for parallel %i = 0 to 6 {
//       CHECK:     loop.for parallel %j = 0 to 8 {
//       CHECK:       loop.for reduce<add> %k = 0 to 6
//       CHECK:         loop.load %a[%k, %j]
//       CHECK:       loop.store %{{.*}}, %out[%i, %j]
func.func @rows_first(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %0 = graph.fusion (%a = %x : tensor<6x8xf32>) -> tensor<6x8xf32> {
    %1 = graph.reduce add %a over [0] : tensor<6x8xf32> -> tensor<8xf32>
    %2 = graph.broadcast %1 to [1] : tensor<8xf32> -> tensor<6x8xf32>
    %3 = graph.div %a, %2 : tensor<6x8xf32>
    graph.yield %3 : tensor<6x8xf32>
  }
  return %0 : tensor<6x8xf32>
}

// -----

/// `order` puts the loop over columns outside, and the sum between the two.
// CHECK-LABEL: loop.kernel @reduce_div
//       CHECK:   loop.for parallel %i = 0 to 8 {
//       CHECK:     loop.for reduce<add> %k = 0 to 6
//       CHECK:       loop.load %a[%k, %i]
//       CHECK:     loop.for parallel %j = 0 to 6 {
//       CHECK:       loop.store %{{.*}}, %out[%j, %i]
func.func @columns_first(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %0 = graph.fusion (%a = %x : tensor<6x8xf32>) -> tensor<6x8xf32> order [1, 0] {
    %1 = graph.reduce add %a over [0] : tensor<6x8xf32> -> tensor<8xf32>
    %2 = graph.broadcast %1 to [1] : tensor<8xf32> -> tensor<6x8xf32>
    %3 = graph.div %a, %2 : tensor<6x8xf32>
    graph.yield %3 : tensor<6x8xf32>
  }
  return %0 : tensor<6x8xf32>
}

// -----

/// A third order of three loops.
// CHECK-LABEL: loop.kernel @exp
//       CHECK:   loop.for parallel %i = 0 to 4 {
//       CHECK:     loop.for parallel %j = 0 to 2 {
//       CHECK:       loop.for parallel %k = 0 to 3 {
//       CHECK:         loop.store %{{.*}}, %out[%j, %k, %i]
func.func @three(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = graph.fusion (%a = %x : tensor<2x3x4xf32>) -> tensor<2x3x4xf32> order [2, 0, 1] {
    %1 = graph.exp %a : tensor<2x3x4xf32>
    graph.yield %1 : tensor<2x3x4xf32>
  }
  return %0 : tensor<2x3x4xf32>
}

// -----

/// Without prologues, what a product reads is computed for each product.
// CHECK-LABEL: loop.kernel @exp_neg_dot
//   CHECK-NOT:   loop.alloc
//       CHECK:   loop.for reduce<add>
//   CHECK-DAG:     math.exp
//   CHECK-DAG:     arith.negf
//       CHECK:     arith.mulf
func.func @no_prologues(%x: tensor<8x3xf32>, %w: tensor<3x5xf32>) -> tensor<8x5xf32> {
  %0 = graph.fusion (%a = %x : tensor<8x3xf32>, %b = %w : tensor<3x5xf32>) -> tensor<8x5xf32> {
    %1 = graph.exp %b : tensor<3x5xf32>
    %2 = graph.neg %a : tensor<8x3xf32>
    %3 = graph.dot %2, %1 contract [1] with [0] : (tensor<8x3xf32>, tensor<3x5xf32>) -> tensor<8x5xf32>
    graph.yield %3 : tensor<8x5xf32>
  }
  return %0 : tensor<8x5xf32>
}

// -----

/// One of the two is stored first.
// CHECK-LABEL: loop.kernel @exp_neg_dot
//       CHECK:   %[[EXP:.+]] = loop.alloc scratch : memref<3x5xf32>
//       CHECK:   math.exp
//  CHECK-NEXT:   loop.store %{{.*}}, %[[EXP]][
//   CHECK-NOT:   loop.alloc
//       CHECK:   loop.for reduce<add>
//   CHECK-NOT:     math.exp
//   CHECK-DAG:     arith.negf
//   CHECK-DAG:     loop.load %[[EXP]][
//       CHECK:     arith.mulf
func.func @one_prologue(%x: tensor<8x3xf32>, %w: tensor<3x5xf32>) -> tensor<8x5xf32> {
  %0 = graph.fusion (%a = %x : tensor<8x3xf32>, %b = %w : tensor<3x5xf32>) -> tensor<8x5xf32> prologues 1 {
    %1 = graph.exp %b : tensor<3x5xf32>
    %2 = graph.neg %a : tensor<8x3xf32>
    %3 = graph.dot %2, %1 contract [1] with [0] : (tensor<8x3xf32>, tensor<3x5xf32>) -> tensor<8x5xf32>
    graph.yield %3, %1 : tensor<8x5xf32>, tensor<3x5xf32>
  }
  return %0 : tensor<8x5xf32>
}

// -----

/// Both, in the order in which they are yielded.
// CHECK-LABEL: loop.kernel @exp_neg_dot
//       CHECK:   loop.alloc scratch : memref<8x3xf32>
//       CHECK:   arith.negf
//       CHECK:   loop.alloc scratch : memref<3x5xf32>
//       CHECK:   math.exp
//       CHECK:   loop.for reduce<add>
//   CHECK-NOT:     arith.negf
//   CHECK-NOT:     math.exp
//       CHECK:     arith.mulf
func.func @two_prologues(%x: tensor<8x3xf32>, %w: tensor<3x5xf32>) -> tensor<8x5xf32> {
  %0 = graph.fusion (%a = %x : tensor<8x3xf32>, %b = %w : tensor<3x5xf32>) -> tensor<8x5xf32> prologues 2 {
    %1 = graph.exp %b : tensor<3x5xf32>
    %2 = graph.neg %a : tensor<8x3xf32>
    %3 = graph.dot %2, %1 contract [1] with [0] : (tensor<8x3xf32>, tensor<3x5xf32>) -> tensor<8x5xf32>
    graph.yield %3, %2, %1 : tensor<8x5xf32>, tensor<8x3xf32>, tensor<3x5xf32>
  }
  return %0 : tensor<8x5xf32>
}

// -----

/// A sum may be stored first as well, and what is stored first may be a result.
// CHECK-LABEL: loop.kernel @reduce_exp
//       CHECK:   %[[SUM:.+]] = loop.alloc scratch : memref<6xf32>
//       CHECK:   loop.for reduce<add>
//       CHECK:   %[[EXP:.+]] = loop.alloc scratch : memref<6xf32>
//       CHECK:   loop.load %[[SUM]][
//  CHECK-NEXT:   math.exp
//   CHECK-NOT:   math.exp
//       CHECK:   %[[RESULT:.+]] = loop.load %[[EXP]][
//  CHECK-NEXT:   loop.store %[[RESULT]], %out[
func.func @stored_sum(%x: tensor<6x8xf32>) -> tensor<6xf32> {
  %0 = graph.fusion (%a = %x : tensor<6x8xf32>) -> tensor<6xf32> prologues 2 {
    %1 = graph.reduce add %a over [1] : tensor<6x8xf32> -> tensor<6xf32>
    %2 = graph.exp %1 : tensor<6xf32>
    graph.yield %2, %1, %2 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
  }
  return %0 : tensor<6xf32>
}

// -----

/// Operands and results under another shape are views of their buffers.
// CHECK-LABEL: program.func @other_shapes
//       CHECK:   program.reinterpret_cast %x
//       CHECK:   program.reinterpret_cast %result
//       CHECK: loop.kernel @exp(%a: memref<12xf32>, %out: memref<12xf32>)
func.func @other_shapes(%x: tensor<3x4xf32>) -> tensor<2x6xf32> {
  %0 = graph.fusion (%a = %x : tensor<3x4xf32> as tensor<12xf32>) -> tensor<2x6xf32> {
    %1 = graph.exp %a : tensor<12xf32>
    graph.yield %1 : tensor<12xf32>
  }
  return %0 : tensor<2x6xf32>
}

// -----

/// Fusions that differ in their loops alone are two kernels.
// CHECK-LABEL: program.func @two_kernels
//       CHECK:   loop.launch @exp(
//       CHECK:   loop.launch @exp_1(
//       CHECK:   loop.launch @exp(
func.func @two_kernels(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = graph.fusion (%a = %x : tensor<3x4xf32>) -> tensor<3x4xf32> {
    %1 = graph.exp %a : tensor<3x4xf32>
    graph.yield %1 : tensor<3x4xf32>
  }
  %2 = graph.fusion (%a = %x : tensor<3x4xf32>) -> tensor<3x4xf32> order [1, 0] {
    %3 = graph.exp %a : tensor<3x4xf32>
    graph.yield %3 : tensor<3x4xf32>
  }
  %4 = graph.fusion (%a = %x : tensor<3x4xf32>) -> tensor<3x4xf32> order [0, 1] {
    %5 = graph.exp %a : tensor<3x4xf32>
    graph.yield %5 : tensor<3x4xf32>
  }
  return %0, %2, %4 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

/// Also beside operands of symbolic sizes.
// CHECK-LABEL: program.func @other_shape_and_open_size
//       CHECK:   %[[VIEW:.+]] = program.reinterpret_cast %s
//       CHECK:   loop.launch @mul(%x, %[[VIEW]], %result, %N)
func.func @other_shape_and_open_size(%x: tensor<?x2xf32>, %s: tensor<2x1xf32>) -> tensor<?x2xf32> {
  %0 = graph.fusion (%a = %x : tensor<?x2xf32>, %b = %s : tensor<2x1xf32> as tensor<2xf32>) -> tensor<?x2xf32> {
    %1 = graph.broadcast %b to [1] : tensor<2xf32> -> tensor<?x2xf32>
    %2 = graph.mul %a, %1 : tensor<?x2xf32>
    graph.yield %2 : tensor<?x2xf32>
  }
  return %0 : tensor<?x2xf32>
}
