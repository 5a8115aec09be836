// RUN: lamina-opt %s -p graph-vmap --split-input-file | filecheck %s

/// Elementwise ops take batched operands as they are; an unbatched one is repeated.
// CHECK-LABEL: func.func @elementwise
//  CHECK-SAME:   (%[[X:.+]]: tensor<8x4xf32>, %[[W:.+]]: tensor<4xf32>)
//  CHECK-NEXT:   %[[B:.+]] = graph.broadcast %[[W]] to [1] : tensor<4xf32> -> tensor<8x4xf32>
//  CHECK-NEXT:   %[[Y:.+]] = graph.mul %[[X]], %[[B]] : tensor<8x4xf32>
//  CHECK-NEXT:   return %[[Y]]
func.func private @f(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.mul %x, %w : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @elementwise(%x: tensor<8x4xf32>, %w: tensor<4xf32>) -> tensor<8x4xf32> {
  %y = graph.vmap @f(%x, %w) axes [0, -1] : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>)
  return %y : tensor<8x4xf32>
}

// -----

/// A batched matrix against an unbatched one is one product; both batched, the batch is a batch dim of the dot.
// CHECK-LABEL: func.func @dots
//  CHECK-SAME:   (%[[X:.+]]: tensor<8x2x3xf32>, %[[W:.+]]: tensor<3x4xf32>)
//  CHECK-NEXT:   %[[P:.+]] = graph.dot %[[X]], %[[W]] contract [2] with [0]
//  CHECK-NEXT:   %[[Q:.+]] = graph.dot %[[P]], %[[X]] batch [0] with [0] contract [1] with [1]
//  CHECK-NEXT:   return %[[Q]]
func.func private @f(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %p = graph.dot %x, %w contract [1] with [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %q = graph.dot %p, %x contract [0] with [0] : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return %q : tensor<4x3xf32>
}
func.func @dots(%x: tensor<8x2x3xf32>, %w: tensor<3x4xf32>) -> tensor<8x4x3xf32> {
  %y = graph.vmap @f(%x, %w) axes [0, -1] : (tensor<8x2x3xf32>, tensor<3x4xf32>) -> (tensor<8x4x3xf32>)
  return %y : tensor<8x4x3xf32>
}

// -----

/// Another axis is moved to the front; dims of a reduction move up by one.
// CHECK-LABEL: func.func @other_axis
//  CHECK-SAME:   (%[[X:.+]]: tensor<4x8xf32>)
//  CHECK-NEXT:   %[[T:.+]] = graph.transpose %[[X]] perm [1, 0]
//  CHECK-NEXT:   %[[Y:.+]] = graph.reduce add %[[T]] over [1] : tensor<8x4xf32> -> tensor<8xf32>
//  CHECK-NEXT:   return %[[Y]]
func.func private @f(%x: tensor<4xf32>) -> tensor<f32> {
  %y = graph.reduce add %x over [0] : tensor<4xf32> -> tensor<f32>
  return %y : tensor<f32>
}
func.func @other_axis(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %y = graph.vmap @f(%x) axes [1] : (tensor<4x8xf32>) -> (tensor<8xf32>)
  return %y : tensor<8xf32>
}

// -----

/// What depends on no batched argument is computed once; as a result it is repeated.
// CHECK-LABEL: func.func @no_batch
//  CHECK-SAME:   (%[[X:.+]]: tensor<8xf32>, %[[W:.+]]: tensor<4xf32>)
//  CHECK-NEXT:   %[[E:.+]] = graph.exp %[[W]] : tensor<4xf32>
//  CHECK-NEXT:   %[[B:.+]] = graph.broadcast %[[E]] to [1] : tensor<4xf32> -> tensor<8x4xf32>
//  CHECK-NEXT:   return %[[B]]
func.func private @f(%x: tensor<f32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.exp %w : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @no_batch(%x: tensor<8xf32>, %w: tensor<4xf32>) -> tensor<8x4xf32> {
  %y = graph.vmap @f(%x, %w) axes [0, -1] : (tensor<8xf32>, tensor<4xf32>) -> (tensor<8x4xf32>)
  return %y : tensor<8x4xf32>
}

// -----

/// Statistics and weights without a batch: the op stays, with one more dim before its channels.
// CHECK-LABEL: func.func @normalized
//       CHECK:   graph.batch_norm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} along 2
//  CHECK-NEXT:   return
func.func private @f(%x: tensor<2x3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3xf32> {
  %y = graph.batch_norm %x, %m, %v, %v, %m along 1 epsilon 1.0e-05 : f64
    : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
func.func @normalized(%x: tensor<4x2x3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<4x2x3xf32> {
  %y = graph.vmap @f(%x, %m, %v) axes [0, -1, -1] : (tensor<4x2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x2x3xf32>)
  return %y : tensor<4x2x3xf32>
}

// -----

/// A collective over the mapped axis has one result for all elements: what follows from it alone has no batch dim.
// CHECK-LABEL: func.func @collectives
//  CHECK-SAME:   (%[[X:.+]]: tensor<8x4xf32>, %{{.+}}: tensor<8xi64>)
//  CHECK-NEXT:   %[[S:.+]] = graph.reduce add %[[X]] over [0] : tensor<8x4xf32> -> tensor<4xf32>
//  CHECK-NEXT:   %[[E:.+]] = graph.exp %[[S]] : tensor<4xf32>
//  CHECK-NEXT:   %[[T:.+]] = graph.reduce max %[[X]] over [0] : tensor<8x4xf32> -> tensor<4xf32>
//  CHECK-NEXT:   %[[R:.+]] = graph.add %[[E]], %[[T]] : tensor<4xf32>
//  CHECK-NEXT:   %[[Y:.+]] = graph.broadcast %[[R]] to [1] : tensor<4xf32> -> tensor<8x4xf32>
//  CHECK-NEXT:   return %[[Y]]
func.func private @f(%x: tensor<4xf32>, %i: tensor<i64>) -> tensor<4xf32> {
  %s = graph.psum %x at %i of 8 : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  %e = graph.exp %s : tensor<4xf32>
  %g = graph.all_gather %x at %i of 8 : (tensor<4xf32>, tensor<i64>) -> tensor<8x4xf32>
  %t = graph.reduce max %g over [0] : tensor<8x4xf32> -> tensor<4xf32>
  %y = graph.add %e, %t : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @collectives(%x: tensor<8x4xf32>, %i: tensor<8xi64>) -> tensor<8x4xf32> {
  %y = graph.vmap @f(%x, %i) axes [0, 0] : (tensor<8x4xf32>, tensor<8xi64>) -> (tensor<8x4xf32>)
  return %y : tensor<8x4xf32>
}

// -----

/// Another axis batches a collective as any op; its dim stands behind the one that is gathered.
// CHECK-LABEL: func.func @collective_of_another_axis
//  CHECK-SAME:   (%[[X:.+]]: tensor<5x4xf32>, %[[I:.+]]: tensor<i64>)
//  CHECK-NEXT:   %[[G:.+]] = graph.all_gather %[[X]] at %[[I]] of 8 : (tensor<5x4xf32>, tensor<i64>) -> tensor<8x5x4xf32>
//  CHECK-NEXT:   %[[Y:.+]] = graph.transpose %[[G]] perm [1, 0, 2] : tensor<8x5x4xf32> -> tensor<5x8x4xf32>
//  CHECK-NEXT:   return %[[Y]]
func.func private @f(%x: tensor<4xf32>, %i: tensor<i64>) -> tensor<8x4xf32> {
  %g = graph.all_gather %x at %i of 8 : (tensor<4xf32>, tensor<i64>) -> tensor<8x4xf32>
  return %g : tensor<8x4xf32>
}
func.func @collective_of_another_axis(%x: tensor<5x4xf32>, %i: tensor<i64>) -> tensor<5x8x4xf32> {
  %y = graph.vmap @f(%x, %i) axes [0, -1] : (tensor<5x4xf32>, tensor<i64>) -> (tensor<5x8x4xf32>)
  return %y : tensor<5x8x4xf32>
}

// -----

/// A batch of calls of a kernel is a call of one with a parallel loop.
// CHECK-LABEL: loop.kernel @square_batch_0_1(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %N: index, %batch: index)
//  CHECK-NEXT:   loop.for parallel %[[B:.+]] = 0 to %batch {
//  CHECK-NEXT:     loop.for seq %i = 0 to %N {
//  CHECK-NEXT:       %a = loop.load %x[%[[B]], %i]
// CHECK-LABEL: func.func @kernel
//  CHECK-NEXT:   %y = graph.kernel @square_batch_0_1(%x, out)
loop.kernel @square(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  loop.for seq %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    loop.store %b, %y[%i] : memref<?xf32>
  }
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.kernel @square(%x, out) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @kernel(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %y = graph.vmap @f(%x) axes [0] : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
  return %y : tensor<3x4xf32>
}
