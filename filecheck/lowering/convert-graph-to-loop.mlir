// RUN: lamina-opt %s -p graph-fuse,graph-collapse-dims,convert-graph-to-loop --split-input-file | filecheck %s
// RUN: not lamina-opt %S/Inputs/composite.mlir -p convert-graph-to-loop 2>&1 | filecheck %s --check-prefix=COMPOSITE

/// The epilogue lives where the sum ends; the function becomes a host function, which gets memory for its results.
// CHECK-LABEL: program.func @layer(%x: memref<3x4xf32>, %w: memref<4x2xf32>) -> (%result: memref<3x2xf32>) work 30 {
//  CHECK-NEXT:   loop.launch @dot_tanh(%x, %w, %result)
//  CHECK-NEXT: }
// CHECK-LABEL: loop.kernel @dot_tanh
//       CHECK:   loop.for parallel %i = 0 to 3 {
//  CHECK-NEXT:     loop.for parallel %j = 0 to 2 {
//  CHECK-NEXT:       %[[SUM:.+]] = loop.for reduce<add> %k = 0 to 4 init %{{.*}} : f32 {
//  CHECK-NEXT:         loop.load %x[%i, %k]
//  CHECK-NEXT:         loop.load %w[%k, %j]
//  CHECK-NEXT:         arith.mulf
//  CHECK-NEXT:         loop.yield
//  CHECK-NEXT:       }
//  CHECK-NEXT:       %[[T:.+]] = math.tanh %[[SUM]]
//  CHECK-NEXT:       loop.store %[[T]], %out[%i, %j]
func.func @layer(%x: tensor<3x4xf32>, %w: tensor<4x2xf32>) -> tensor<3x2xf32> {
  %0 = graph.dot %x, %w contract [1] with [0] : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %1 = graph.tanh %0 : tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// -----

/// What does not change in a loop does not stand in it: the row maximum is computed once a row.
// CHECK-LABEL: loop.kernel @reduce_sub
//       CHECK:   loop.for parallel %i = 0 to 3 {
//  CHECK-NEXT:     %[[MAX:.+]] = loop.for reduce<max>
//       CHECK:     loop.for parallel %j = 0 to 4 {
//   CHECK-NOT:       loop.for
//       CHECK:       arith.subf %{{.*}}, %[[MAX]]
func.func @center(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = graph.reduce max %x over [1] : tensor<3x4xf32> -> tensor<3xf32>
  %1 = graph.broadcast %0 to [0] : tensor<3xf32> -> tensor<3x4xf32>
  %2 = graph.sub %x, %1 : tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}

// -----

/// Elementwise kernels are one loop over all elements, and equal ones are one kernel, whatever the shape.
// CHECK-LABEL: program.func @shared
//       CHECK:   loop.launch @exp(
//       CHECK:   loop.launch @exp(
//       CHECK: loop.kernel @exp(%{{.*}}: memref<12xf32>, %out: memref<12xf32>)
//  CHECK-SAME:   in_place(%out over %x)
//   CHECK-NOT: loop.kernel
func.func @shared(%x: tensor<3x4xf32>, %y: tensor<12xf32>) -> (tensor<3x4xf32>, tensor<12xf32>) {
  %0 = graph.exp %x : tensor<3x4xf32>
  %1 = graph.exp %y : tensor<12xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<12xf32>
}

// -----

/// Dims that no op tells apart are one, those of size 1 go: a mean over the pixels of each channel is a mean over rows.
// CHECK-LABEL: program.func @channels
//       CHECK: loop.kernel @reduce_div(%x: memref<6x20xf32>, %out: memref<6xf32>)
//       CHECK:   loop.for parallel %i = 0 to 6 {
//  CHECK-NEXT:     loop.for reduce<add> %j = 0 to 20
//   CHECK-NOT:     loop.for
func.func @channels(%x: tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32> {
  %n = graph.const dense<20.0> : tensor<f32>
  %0 = graph.reduce add %x over [2, 3] : tensor<2x3x4x5xf32> -> tensor<2x3xf32>
  %1 = graph.broadcast %n to [] : tensor<f32> -> tensor<2x3xf32>
  %2 = graph.div %0, %1 : tensor<2x3xf32>
  %3 = graph.reshape %2 : tensor<2x3xf32> -> tensor<2x3x1x1xf32>
  return %3 : tensor<2x3x1x1xf32>
}

// -----

/// The bias has a dim without the one before it: the two stay apart.
// CHECK-LABEL: program.func @bias
//       CHECK: loop.kernel @add(%b: memref<4xf32>, %x: memref<6x4xf32>, %out: memref<6x4xf32>)
func.func @bias(%x: tensor<2x3x4xf32>, %b: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %0 = graph.broadcast %b to [2] : tensor<4xf32> -> tensor<2x3x4xf32>
  %1 = graph.add %x, %0 : tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// -----

/// A reshape is a view, and a padded tensor two nests: the fill, then the copy.
// CHECK-LABEL: program.func @moved
//       CHECK:   program.reinterpret_cast
//       CHECK: loop.kernel @pad
//       CHECK:   loop.for parallel %i = 0 to 7 {
//       CHECK:   loop.for parallel %j = 0 to 4 {
//       CHECK:     loop.store %{{.*}}, %out[%j + 1]
func.func @moved(%x: tensor<2x2xf32>) -> tensor<7xf32> {
  %0 = graph.const dense<0.0> : tensor<f32>
  %1 = graph.reshape %x : tensor<2x2xf32> -> tensor<4xf32>
  %2 = graph.pad %1, %0 low [1] high [2] interior [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  return %2 : tensor<7xf32>
}

// -----

/// What is reduced along rows and read again is computed for columns: their loop is outside.
// CHECK-LABEL: program.func @columns
//       CHECK: loop.kernel @abs_reduce_div(%x: memref<6x32xf32>, %out: memref<6x32xf32>)
//       CHECK:   loop.for parallel %i = 0 to 32 {
//       CHECK:     loop.for reduce<add> %k = 0 to 6
//       CHECK:       loop.load %x[%k, %i]
//       CHECK:     loop.for parallel %j = 0 to 6 {
//       CHECK:       loop.store %{{.*}}, %out[%j, %i]
//   CHECK-NOT: loop.kernel
func.func @columns(%x: tensor<6x32xf32>) -> tensor<6x32xf32> {
  %0 = graph.abs %x : tensor<6x32xf32>
  %1 = graph.reduce add %0 over [0] : tensor<6x32xf32> -> tensor<32xf32>
  %2 = graph.broadcast %1 to [1] : tensor<32xf32> -> tensor<6x32xf32>
  %3 = graph.div %0, %2 : tensor<6x32xf32>
  return %3 : tensor<6x32xf32>
}

// -----

/// A function that only passes its argument on has nothing to launch.
// CHECK-LABEL: program.func @no_kernel
//  CHECK-NEXT:   memref.copy
//  CHECK-NEXT: }
//   CHECK-NOT: loop.kernel
func.func @no_kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

/// What cannot be lowered says why.
// COMPOSITE: error: 'graph.softmax' op is a composite: run graph-decompose before convert-graph-to-loop

// -----

/// The operands of a stack along the last dim are stored in one nest: their elements take turns in memory.
// CHECK-LABEL: loop.kernel @concat(
//       CHECK:   loop.for parallel %[[I:.+]] = 0 to 8 {
//       CHECK:     loop.store %{{.+}}, %out[%[[I]], %[[J:.+]]] : memref<8x3xf32>
//  CHECK-NEXT:     loop.store %{{.+}}, %out[%[[I]], %[[J]] + 1] : memref<8x3xf32>
//  CHECK-NEXT:     loop.store %{{.+}}, %out[%[[I]], %[[J]] + 2] : memref<8x3xf32>
func.func @stack(%x: tensor<8x1xf32>, %y: tensor<8x1xf32>, %z: tensor<8x1xf32>) -> tensor<8x3xf32> {
  %r = graph.concat %x, %y, %z along 1 : (tensor<8x1xf32>, tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x3xf32>
  return %r : tensor<8x3xf32>
}

// -----

/// Operands with several columns have a nest each.
// CHECK-LABEL: loop.kernel @concat(
// CHECK-COUNT-2: loop.for parallel %{{.+}} = 0 to 8 {
func.func @no_stack(%x: tensor<8x2xf32>, %y: tensor<8x1xf32>) -> tensor<8x3xf32> {
  %r = graph.concat %x, %y along 1 : (tensor<8x2xf32>, tensor<8x1xf32>) -> tensor<8x3xf32>
  return %r : tensor<8x3xf32>
}

// -----

/// A call is given rows of an array where they are; what has gaps is copied.
// CHECK-LABEL: program.func @given_rows
//       CHECK:   %[[ROW:.+]] = program.reinterpret_cast %x to offset: [8], sizes: [1, 4], strides: [4, 1]
//       CHECK:   loop.call @one_row read(%[[ROW]])
//       CHECK:   %[[COPY:.+]] = memref.alloc() : memref<1x4xf32>
//       CHECK:   loop.launch @{{.*}}(%x, %[[COPY]])
//       CHECK:   loop.call @one_row read(%[[COPY]])
func.func private @one_row(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %y = graph.exp %x : tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}
func.func @given_rows(%x: tensor<3x8xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %r = graph.slice %x start [1, 0] stop [2, 4] step [1, 1] : tensor<3x8xf32> -> tensor<1x4xf32>
  %y = graph.call @one_row(%r) : (tensor<1x4xf32>) -> (tensor<1x4xf32>)
  %q = graph.slice %x start [0, 0] stop [1, 8] step [1, 2] : tensor<3x8xf32> -> tensor<1x4xf32>
  %z = graph.call @one_row(%q) : (tensor<1x4xf32>) -> (tensor<1x4xf32>)
  return %y, %z : tensor<1x4xf32>, tensor<1x4xf32>
}

// -----

/// What is computed for a concat along the outermost dim alone is stored where it is to be.
// CHECK-LABEL: program.func @joined
//       CHECK:   %[[TOP:.+]] = program.reinterpret_cast %result to offset: [0], sizes: [2, 8], strides: [8, 1]
//  CHECK-NEXT:   loop.launch @dot(%x, %w, %[[TOP]])
//  CHECK-NEXT:   %[[BOTTOM:.+]] = program.reinterpret_cast %result to offset: [16], sizes: [3, 8], strides: [8, 1]
//  CHECK-NEXT:   loop.launch @dot_1(%y, %w, %[[BOTTOM]])
//  CHECK-NEXT: }
func.func @joined(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>, %w: tensor<4x8xf32>) -> tensor<5x8xf32> {
  %a = graph.dot %x, %w contract [1] with [0] : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %b = graph.dot %y, %w contract [1] with [0] : (tensor<3x4xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
  %c = graph.concat %a, %b along 0 : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  return %c : tensor<5x8xf32>
}

// -----

/// An operand that something else needs, too, has a buffer of its own, and so all have.
// CHECK-LABEL: program.func @no_joined_of_used
//       CHECK:   loop.launch @concat(%result1, %{{.*}}, %result0)
func.func @no_joined_of_used(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>, %w: tensor<4x8xf32>) -> (tensor<5x8xf32>, tensor<2x8xf32>) {
  %a = graph.dot %x, %w contract [1] with [0] : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %b = graph.dot %y, %w contract [1] with [0] : (tensor<3x4xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
  %c = graph.concat %a, %b along 0 : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  return %c, %a : tensor<5x8xf32>, tensor<2x8xf32>
}

// -----

/// So it has where it would not begin at a cache line.
// CHECK-LABEL: program.func @no_joined_between_lines
//       CHECK:   loop.launch @concat(%{{.*}}, %{{.*}}, %result)
func.func @no_joined_between_lines(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>, %w: tensor<4x7xf32>) -> tensor<5x7xf32> {
  %a = graph.dot %x, %w contract [1] with [0] : (tensor<2x4xf32>, tensor<4x7xf32>) -> tensor<2x7xf32>
  %b = graph.dot %y, %w contract [1] with [0] : (tensor<3x4xf32>, tensor<4x7xf32>) -> tensor<3x7xf32>
  %c = graph.concat %a, %b along 0 : (tensor<2x7xf32>, tensor<3x7xf32>) -> tensor<5x7xf32>
  return %c : tensor<5x7xf32>
}
