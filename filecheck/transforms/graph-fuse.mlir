// RUN: lamina-opt %s -p graph-fuse | filecheck %s

/// An elementwise chain with a broadcast row is one kernel.
// CHECK-LABEL: @chain
//       CHECK:   graph.fusion ({{.*}}) -> tensor<8x4xf32> {
//  CHECK-NEXT:     graph.broadcast
//  CHECK-NEXT:     graph.add
//  CHECK-NEXT:     graph.exp
//  CHECK-NEXT:     graph.yield
//   CHECK-NOT:   graph.fusion
func.func @chain(%x: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = graph.broadcast %b to [1] : tensor<4xf32> -> tensor<8x4xf32>
  %1 = graph.add %x, %0 : tensor<8x4xf32>
  %2 = graph.exp %1 : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

/// A leading chain, the row sum, and what is done with it row by row: one kernel, the sum computed once a row.
// CHECK-LABEL: @rows
//       CHECK:   graph.fusion
//       CHECK:     graph.exp
//       CHECK:     graph.reduce add
//       CHECK:     graph.div
//   CHECK-NOT:   graph.fusion
func.func @rows(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = graph.exp %x : tensor<8x4xf32>
  %1 = graph.reduce add %0 over [1] : tensor<8x4xf32> -> tensor<8xf32>
  %2 = graph.broadcast %1 to [0] : tensor<8xf32> -> tensor<8x4xf32>
  %3 = graph.div %0, %2 : tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

/// The prologue and the epilogue of a dot are parts of its kernel; the first is stored there before it is read many times.
// CHECK-LABEL: @prologue_and_epilogue
//       CHECK:   graph.fusion ({{.*}}) -> tensor<8x5xf32> prologues 1 {
//  CHECK-NEXT:     graph.exp
//  CHECK-NEXT:     graph.dot
//  CHECK-NEXT:     graph.tanh
func.func @prologue_and_epilogue(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> tensor<8x5xf32> {
  %0 = graph.exp %x : tensor<8x4xf32>
  %1 = graph.dot %0, %w contract [1] with [0] : (tensor<8x4xf32>, tensor<4x5xf32>) -> tensor<8x5xf32>
  %2 = graph.tanh %1 : tensor<8x5xf32>
  return %2 : tensor<8x5xf32>
}

/// What ends the kernel of a reduction, and what is also needed elsewhere, is no prologue.
// CHECK-LABEL: @no_prologue
//       CHECK:   graph.fusion
//       CHECK:     graph.reduce
//       CHECK:     graph.exp
//  CHECK-NEXT:     graph.yield
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.neg
//  CHECK-NEXT:     graph.yield
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.dot
func.func @no_prologue(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> (tensor<8x5xf32>, tensor<4x5xf32>) {
  %0 = graph.reduce add %x over [1] : tensor<8x4xf32> -> tensor<8xf32>
  %1 = graph.broadcast %0 to [0] : tensor<8xf32> -> tensor<8x4xf32>
  %2 = graph.sub %x, %1 : tensor<8x4xf32>
  %3 = graph.exp %2 : tensor<8x4xf32>
  %4 = graph.neg %w : tensor<4x5xf32>
  %5 = graph.dot %3, %4 contract [1] with [0] : (tensor<8x4xf32>, tensor<4x5xf32>) -> tensor<8x5xf32>
  return %5, %4 : tensor<8x5xf32>, tensor<4x5xf32>
}

/// What two products of matrices are combined by follows one of them: a schedule has room for one.
// CHECK-LABEL: @two_products
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.dot
//  CHECK-NEXT:     graph.yield
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.dot
//  CHECK-NEXT:     graph.mul
func.func @two_products(%x: tensor<8x4xf32>, %v: tensor<4x5xf32>, %w: tensor<4x5xf32>) -> tensor<8x5xf32> {
  %0 = graph.dot %x, %v contract [1] with [0] : (tensor<8x4xf32>, tensor<4x5xf32>) -> tensor<8x5xf32>
  %1 = graph.dot %x, %w contract [1] with [0] : (tensor<8x4xf32>, tensor<4x5xf32>) -> tensor<8x5xf32>
  %2 = graph.mul %0, %1 : tensor<8x5xf32>
  return %2 : tensor<8x5xf32>
}

/// Sums of products that read each element once go through their operands together.
// CHECK-LABEL: @two_sums
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.dot
//  CHECK-NEXT:     graph.dot
//  CHECK-NEXT:     graph.div
func.func @two_sums(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<8xf32> {
  %0 = graph.dot %x, %y batch [0] with [0] contract [1] with [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8xf32>
  %1 = graph.dot %y, %y batch [0] with [0] contract [1] with [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8xf32>
  %2 = graph.div %0, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}

/// Where a dot reads each element of an operand once, what computes it is part of the sum, not a prologue.
// CHECK-LABEL: @matrix_and_vector
//       CHECK:   graph.fusion ({{.*}}) -> tensor<64xf32> prologues 1 {
//  CHECK-NEXT:     graph.exp
//  CHECK-NEXT:     graph.abs
//  CHECK-NEXT:     graph.dot
func.func @matrix_and_vector(%w: tensor<64x32xf32>, %v: tensor<32xf32>) -> tensor<64xf32> {
  %0 = graph.exp %v : tensor<32xf32>
  %1 = graph.abs %w : tensor<64x32xf32>
  %2 = graph.dot %1, %0 contract [1] with [0] : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

/// A large operand that is read a few times is converted each time; in memory it would be larger.
// CHECK-LABEL: @conversion_of_a_large_operand
//       CHECK:   graph.fusion ({{.*}}) -> tensor<8x512xf32> {
//  CHECK-NEXT:     graph.convert
//  CHECK-NEXT:     graph.dot
func.func @conversion_of_a_large_operand(%x: tensor<8x1024xf32>, %w: tensor<1024x512xf16>) -> tensor<8x512xf32> {
  %0 = graph.convert %w : tensor<1024x512xf16> -> tensor<1024x512xf32>
  %1 = graph.dot %x, %0 contract [1] with [0] : (tensor<8x1024xf32>, tensor<1024x512xf32>) -> tensor<8x512xf32>
  return %1 : tensor<8x512xf32>
}

/// One that is read many times is converted in a prologue.
// CHECK-LABEL: @conversion_of_what_is_read_again_and_again
//       CHECK:   graph.fusion ({{.*}}) -> tensor<80x512xf32> prologues 1 {
//  CHECK-NEXT:     graph.convert
//  CHECK-NEXT:     graph.dot
func.func @conversion_of_what_is_read_again_and_again(%x: tensor<80x1024xf32>, %w: tensor<1024x512xf16>) -> tensor<80x512xf32> {
  %0 = graph.convert %w : tensor<1024x512xf16> -> tensor<1024x512xf32>
  %1 = graph.dot %x, %0 contract [1] with [0] : (tensor<80x1024xf32>, tensor<1024x512xf32>) -> tensor<80x512xf32>
  return %1 : tensor<80x512xf32>
}

/// A value needed elsewhere, too, is a further result where it is computed at the points that are stored.
// CHECK-LABEL: @two_results
//       CHECK:   %{{.*}}, %{{.*}} = graph.fusion
//   CHECK-NOT:   graph.fusion
func.func @two_results(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = graph.neg %x : tensor<8xf32>
  %1 = graph.exp %0 : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

/// Not where it is computed at others: a reversed or shifted index is another point.
// CHECK-LABEL: @no_result_at_other_points
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.neg
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.reverse
func.func @no_result_at_other_points(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = graph.neg %x : tensor<8xf32>
  %1 = graph.reverse %0 dims [0] : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

/// Nor into a broadcast along an outer dim: the exponential would be computed once a row.
// CHECK-LABEL: @no_repeated_work
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.exp
//  CHECK-NEXT:     graph.yield
//       CHECK:   graph.fusion
func.func @no_repeated_work(%x: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = graph.exp %b : tensor<4xf32>
  %1 = graph.broadcast %0 to [1] : tensor<4xf32> -> tensor<8x4xf32>
  %2 = graph.mul %x, %1 : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

/// A reshape is a view of a buffer and ends a group.
// CHECK-LABEL: @no_reshape_inside
//       CHECK:   graph.fusion
//       CHECK:   graph.reshape
//       CHECK:   graph.fusion
func.func @no_reshape_inside(%x: tensor<8x4xf32>) -> tensor<32xf32> {
  %0 = graph.exp %x : tensor<8x4xf32>
  %1 = graph.reshape %0 : tensor<8x4xf32> -> tensor<32xf32>
  %2 = graph.neg %1 : tensor<32xf32>
  return %2 : tensor<32xf32>
}

/// A reshape that adds or drops dims of size 1 does not: each element stands where it stood.
// CHECK-LABEL: @unit_dims_inside
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.reduce add
//  CHECK-NEXT:     graph.reshape
//   CHECK-NOT:   graph.fusion
func.func @unit_dims_inside(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = graph.reduce add %x over [1] : tensor<8x4xf32> -> tensor<8xf32>
  %1 = graph.reshape %0 : tensor<8xf32> -> tensor<8x1xf32>
  %2 = graph.sqrt %1 : tensor<8x1xf32>
  %3 = graph.broadcast %2 to [0, 1] : tensor<8x1xf32> -> tensor<8x4xf32>
  %4 = graph.div %x, %3 : tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

/// What is given is read as a view, without a kernel.
// CHECK-LABEL: @no_unit_dims_of_an_argument
//       CHECK:   graph.reshape
//       CHECK:   graph.fusion
//   CHECK-NOT:     graph.reshape
func.func @no_unit_dims_of_an_argument(%x: tensor<8x1x4xf32>) -> tensor<8x4xf32> {
  %0 = graph.reshape %x : tensor<8x1x4xf32> -> tensor<8x4xf32>
  %1 = graph.neg %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

/// What is cheap precedes a convolution that copies its image; what is not is better computed once.
// CHECK-LABEL: @prologue_of_loops_of_its_own
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.tanh
//  CHECK-NEXT:     graph.yield
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.neg
//  CHECK-NEXT:     graph.conv
func.func @prologue_of_loops_of_its_own(%x: tensor<1x2x8x8xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %0 = graph.tanh %x : tensor<1x2x8x8xf32>
  %1 = graph.neg %0 : tensor<1x2x8x8xf32>
  %2 = graph.conv %1, %w stride [1, 1] low [0, 0] high [0, 0] groups 1
    : (tensor<1x2x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %2 : tensor<1x4x6x6xf32>
}

/// A convolution ends in the elementwise ops that follow; its own value may be a further result.
// CHECK-LABEL: @epilogue_of_loops_of_its_own
//       CHECK:   graph.fusion
//  CHECK-SAME:     -> (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>)
//  CHECK-NEXT:     graph.conv
//  CHECK-NEXT:     graph.broadcast
//  CHECK-NEXT:     graph.add
//  CHECK-NEXT:     graph.tanh
//   CHECK-NOT:   graph.fusion
func.func @epilogue_of_loops_of_its_own(%x: tensor<1x2x8x8xf32>, %w: tensor<4x2x3x3xf32>, %b: tensor<4xf32>)
    -> (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) {
  %0 = graph.conv %x, %w stride [1, 1] low [0, 0] high [0, 0] groups 1
    : (tensor<1x2x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x6x6xf32>
  %1 = graph.broadcast %b to [1] : tensor<4xf32> -> tensor<1x4x6x6xf32>
  %2 = graph.add %0, %1 : tensor<1x4x6x6xf32>
  %3 = graph.tanh %2 : tensor<1x4x6x6xf32>
  return %0, %3 : tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>
}

/// Its operands are computed before: its loops read them many times.
// CHECK-LABEL: @no_operand_of_loops_of_its_own
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.exp
//  CHECK-NEXT:     graph.yield
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.reduce_window
//  CHECK-NEXT:     graph.neg
func.func @no_operand_of_loops_of_its_own(%x: tensor<8xf32>) -> tensor<6xf32> {
  %0 = graph.exp %x : tensor<8xf32>
  %1 = graph.reduce_window add %0 window [3] stride [1] low [0] high [0] dilation [1] : tensor<8xf32> -> tensor<6xf32>
  %2 = graph.neg %1 : tensor<6xf32>
  return %2 : tensor<6xf32>
}

/// Nor does a second op with loops of its own join, nor a reduction.
// CHECK-LABEL: @no_second_nest
//       CHECK:   graph.reduce_window add
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.reduce add
//  CHECK-NEXT:     graph.yield
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.reduce_window max
//  CHECK-NEXT:     graph.mul
//  CHECK-NEXT:     graph.broadcast
//  CHECK-NEXT:     graph.sub
func.func @no_second_nest(%x: tensor<8x6xf32>) -> tensor<6x6xf32> {
  %0 = graph.reduce_window add %x window [3, 1] stride [1, 1] low [0, 0] high [0, 0] dilation [1, 1]
    : tensor<8x6xf32> -> tensor<6x6xf32>
  %1 = graph.reduce_window max %x window [3, 1] stride [1, 1] low [0, 0] high [0, 0] dilation [1, 1]
    : tensor<8x6xf32> -> tensor<6x6xf32>
  %2 = graph.mul %0, %1 : tensor<6x6xf32>
  %3 = graph.reduce add %x over [0] : tensor<8x6xf32> -> tensor<6xf32>
  %4 = graph.broadcast %3 to [1] : tensor<6xf32> -> tensor<6x6xf32>
  %5 = graph.sub %2, %4 : tensor<6x6xf32>
  return %5 : tensor<6x6xf32>
}

/// What follows a product is computed at its points also where these have a dim of size 1 more.
// CHECK-LABEL: @epilogue_behind_unit_dims
//       CHECK:   graph.fusion
//  CHECK-NEXT:     graph.dot
//  CHECK-NEXT:     graph.reshape
//  CHECK-NEXT:     graph.tanh
//   CHECK-NOT:   graph.fusion
func.func @epilogue_behind_unit_dims(%w: tensor<4x8xf32>, %x: tensor<8x6xf32>) -> tensor<1x4x6xf32> {
  %0 = graph.dot %w, %x contract [1] with [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = graph.reshape %0 : tensor<4x6xf32> -> tensor<1x4x6xf32>
  %2 = graph.tanh %1 : tensor<1x4x6xf32>
  return %2 : tensor<1x4x6xf32>
}

/// What a dot reads is an argument of the kernel that nothing else reads: an epilogue that reads it, too, has one of its own.
// CHECK-LABEL: @residual
//       CHECK:   graph.fusion (%{{[^ ]+}} = %a : {{[^ ]+}}, %[[EPILOGUE:[^ ]+]] = %x : {{[^ ]+}}, %[[RIGHT:[^ ]+]] = %x :
//       CHECK:     %[[SUM:.+]] = graph.dot %{{.+}}, %[[RIGHT]]
//       CHECK:     graph.add %[[SUM]], %[[EPILOGUE]]
func.func @residual(%a: tensor<8x8xf32>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.dot %a, %x contract [1] with [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = graph.add %0, %x : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

/// Prologues are in the order in which the product reads them, also through ops that move their elements.
// CHECK-LABEL: @prologues_as_they_are_read
//       CHECK:   graph.fusion ({{.*}}) -> tensor<8x5xf32> prologues 2 {
//  CHECK-NEXT:     %[[EXP:.+]] = graph.exp
//  CHECK-NEXT:     graph.transpose
//  CHECK-NEXT:     %[[ABS:.+]] = graph.abs
//  CHECK-NEXT:     %[[DOT:.+]] = graph.dot
//  CHECK-NEXT:     graph.yield %[[DOT]], %[[ABS]], %[[EXP]] :
func.func @prologues_as_they_are_read(%x: tensor<8x4xf32>, %w: tensor<5x4xf32>) -> tensor<8x5xf32> {
  %0 = graph.exp %w : tensor<5x4xf32>
  %1 = graph.transpose %0 perm [1, 0] : tensor<5x4xf32> -> tensor<4x5xf32>
  %2 = graph.abs %x : tensor<8x4xf32>
  %3 = graph.dot %2, %1 contract [1] with [0] : (tensor<8x4xf32>, tensor<4x5xf32>) -> tensor<8x5xf32>
  return %3 : tensor<8x5xf32>
}

/// What is reduced along rows and read again is computed for columns: their loops are outside.
// CHECK-LABEL: @columns
//       CHECK:   graph.fusion ({{.*}}) -> tensor<6x32xf32> order [1, 0] {
//   CHECK-NOT:   graph.fusion
func.func @columns(%x: tensor<6x32xf32>) -> tensor<6x32xf32> {
  %0 = graph.abs %x : tensor<6x32xf32>
  %1 = graph.reduce add %0 over [0] : tensor<6x32xf32> -> tensor<32xf32>
  %2 = graph.broadcast %1 to [1] : tensor<32xf32> -> tensor<6x32xf32>
  %3 = graph.div %0, %2 : tensor<6x32xf32>
  return %3 : tensor<6x32xf32>
}

/// Not where the pieces of a column are short: it would be read in bits of cache lines.
// CHECK-LABEL: @no_short_columns
//       CHECK:   graph.fusion ({{.*}}) -> tensor<4xf32> {
//       CHECK:   graph.fusion ({{.*}}) -> tensor<6x4xf32> {
func.func @no_short_columns(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %0 = graph.reduce add %x over [0] : tensor<6x4xf32> -> tensor<4xf32>
  %1 = graph.broadcast %0 to [1] : tensor<4xf32> -> tensor<6x4xf32>
  %2 = graph.div %x, %1 : tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}
