// RUN: lamina-opt %s -p graph-decompose,graph-fuse | filecheck %s --check-prefix=FUSE
// RUN: lamina-opt %s --compile-to=loop | filecheck %s --check-prefix=LOOP
// RUN: lamina-opt %s --compile-to=loop | lamina-opt --target=x86-64-v3 --compile-to=scheduled | filecheck %s --check-prefix=SCHEDULED
// RUN: lamina-opt %s --compile-to=program | filecheck %s --check-prefix=PROGRAM
// RUN: lamina-opt %s --compile-to=program | lamina-opt --compile-to=llvmir | filecheck %s --check-prefix=LLVM

/// Programs for any number of rows: sizes of type `?` that must be equal become one argument of the host function, and of each kernel.

// FUSE-LABEL: func.func @pointwise
//       FUSE:   graph.fusion
//   FUSE-NOT:   graph.fusion
//       FUSE: graph.yield
/// Their dims are collapsed: the sizes of the buffers that the kernel sees follow from that of the rows.
// LOOP-LABEL: program.func @pointwise(%x: memref<?x64xf32>, %z: memref<?x64xf32>) -> (%result: memref<?x64xf32>)
//  LOOP-SAME:   sizes(%N: index, %M: index) shapes(%x[%N, 64], %z[%N, 64], %result[%N, 64]) meant <"N", "64 * N"> {
//  LOOP-NEXT:   %[[X:.+]] = program.reinterpret_cast %x to offset: [0], sizes: [%M], strides: [1] : memref<?x64xf32> to memref<?xf32>
//       LOOP:   loop.launch @[[TANH:.+]](%[[X]], %{{.+}}, %{{.+}}, %N)
//  LOOP-NEXT: }
func.func @pointwise(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %t = graph.tanh %x : tensor<?x64xf32>
  %y = graph.mul %t, %z : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

/// A product, its epilogue, and what comes before it.
// FUSE-LABEL: func.func @layer
//       FUSE:   graph.fusion
//       FUSE:     graph.exp
//       FUSE:     graph.dot
//       FUSE:     graph.max
// LOOP-LABEL: program.func @layer(%x: memref<?x64xf32>, %w: memref<64x32xf32>, %b: memref<32xf32>) -> (%result: memref<?x32xf32>) sizes(%N: index) shapes(%x[%N, 64], %result[%N, 32]) meant <"N"> {
//  LOOP-NEXT:   loop.launch @[[DOT:.+]](%x, %w, %b, %result, %N)
// LLVM-LABEL: define void @layer(ptr noalias %x.0, ptr noalias %w.1, ptr noalias %b.2, ptr noalias %result.3, i64 %N.4, ptr noalias %arena.5, ptr %status)
func.func @layer(%x: tensor<?x64xf32>, %w: tensor<64x32xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  %e = graph.exp %x : tensor<?x64xf32>
  %h = graph.dot %e, %w contract [1] with [0] : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
  %bb = graph.broadcast %b to [1] : tensor<32xf32> -> tensor<?x32xf32>
  %s = graph.add %h, %bb : tensor<?x32xf32>
  %y = graph.relu %s : tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

/// All sizes of a product, two of its results; the depth of both operands is one size.
// LOOP-LABEL: program.func @product(%a: memref<?x?xf32>, %b: memref<?x?xf32>)
//  LOOP-SAME:   sizes(%N: index, %M: index, %K: index) shapes(%a[%N, %M], %b[%M, %K], %result[%N, %K])
func.func @product(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = graph.dot %a, %b contract [1] with [0] : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

/// Two temporaries of one size that are not in use at once are one.
// PROGRAM-LABEL: program.func @chain
//  PROGRAM-SAME:   temporaries(%{{[^,]+}}: memref<?x8xf32>, %{{[^,]+}}: memref<?x8xf32>) sizes
func.func @chain(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %0 = graph.dot %x, %w contract [1] with [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %1 = graph.dot %0, %w contract [1] with [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %2 = graph.dot %1, %w contract [1] with [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %3 = graph.dot %2, %w contract [1] with [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

/// A size that must be a number is one.
// LOOP-LABEL: program.func @known(%x: memref<4xf32>, %y: memref<4x2xf32>) -> (%result: memref<2xf32>) work 8 {
func.func @known(%x: tensor<?xf32>, %y: tensor<4x2xf32>) -> tensor<2xf32> {
  %z = graph.dot %x, %y contract [0] with [0] : (tensor<?xf32>, tensor<4x2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}

/// A concatenation has the sum of two sizes, a slice one less than one of them, a mean divides by one.
// LOOP-LABEL: program.func @arithmetic
//  LOOP-SAME:   sizes(%N: index, %M: index, %K: index) shapes(%x[%N], %y[%M], %result[%K]) meant <"N", "M", "M + N"> {
//       LOOP:   loop.launch @[[CONCAT:.+]](%x, %y, %result, %N, %M) : (memref<?xf32>, memref<?xf32>, memref<?xf32>, index, index)
func.func @arithmetic(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %z = graph.concat %x, %y along 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %z : tensor<?xf32>
}

/// Kernels: loops to the size, with vectors.
//  LOOP-LABEL: loop.kernel @tanh_mul
//   LOOP-SAME:   shapes(%x[%N * 64], %z[%N * 64], %out[%N * 64]) in_place(%out over %x, %out over %z)
//        LOOP:   loop.for parallel %i = 0 to %N * 64 {
//  LOOP-LABEL: loop.kernel @concat
//        LOOP:   loop.for parallel %i = 0 to %N {
//        LOOP:   loop.for parallel %j = 0 to %M {
//        LOOP:     loop.store %{{.+}}, %out[%j + %N]
// SCHEDULED-LABEL: loop.kernel @tanh_mul
//       SCHEDULED:   loop.for parallel %io = 0 to {{.*}} threads {
//       SCHEDULED:     loop.for vector %ii = 0 to
