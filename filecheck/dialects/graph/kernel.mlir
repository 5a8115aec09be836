// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt %s | lamina-opt | filecheck %s
// RUN: lamina-opt %s --print-op-generic | lamina-opt | filecheck %s
// RUN: lamina-opt %s -p 'graph-specialize{shapes=5 entry=sizes}' | filecheck %s --check-prefix=SIZES
// RUN: lamina-opt %s -p graph-cse,graph-dce,graph-simplify,graph-fuse | filecheck %s --check-prefix=PASSES

loop.kernel @saxpy(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  loop.for seq %i = 0 to %N {
    %old = loop.load %y[%i] : memref<?xf32>
    %v = loop.load %x[%i] : memref<?xf32>
    %new = math.fma %a, %v, %old : f32
    loop.store %new, %y[%i] : memref<?xf32>
  }
}

/// Sizes may stand anywhere; what is written is contiguous here, whatever strides the kernel allows.
loop.kernel @rows(%N: index, %x: memref<?x?xf32, strided<[?, 1]>>, %least: memref<?xf32>, %M: index, %most: memref<?xf32>, %ld: index)
    shapes(%x[%M, %N] strides [%ld, 1], %least[%M], %most[%M]) {
  loop.for parallel %i = 0 to %M {
    %inf = arith.constant 0x7F800000 : f32
    %neg = arith.constant 0xFF800000 : f32
    %l = loop.for reduce<min> %j = 0 to %N init %inf : f32 {
      %v = loop.load %x[%i, %j] : memref<?x?xf32, strided<[?, 1]>>
      loop.yield %v : f32
    }
    %m = loop.for reduce<max> %k = 0 to %N init %neg : f32 {
      %v = loop.load %x[%i, %k] : memref<?x?xf32, strided<[?, 1]>>
      loop.yield %v : f32
    }
    loop.store %l, %least[%i] : memref<?xf32>
    loop.store %m, %most[%i] : memref<?xf32>
  }
}

loop.kernel @between(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N + 1], %y[%N]) {
  loop.for parallel %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    %b = loop.load %x[%i + 1] : memref<?xf32>
    %c = arith.addf %a, %b : f32
    loop.store %c, %y[%i] : memref<?xf32>
  }
}

// CHECK-LABEL: func.func @syntax
//       CHECK:   graph.kernel @saxpy(%a, %x, inout %y) : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
//  CHECK-NEXT:   graph.kernel @rows(%w, out, out) : (tensor<3x8xf32>) -> (tensor<3xf32>, tensor<3xf32>)
func.func @syntax(%a: tensor<f32>, %x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<3x8xf32>)
    -> (tensor<8xf32>, tensor<3xf32>, tensor<3xf32>) {
  %z = graph.kernel @saxpy(%a, %x, inout %y) : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %l, %m = graph.kernel @rows(%w, out, out) : (tensor<3x8xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return %z, %l, %m : tensor<8xf32>, tensor<3xf32>, tensor<3xf32>
}

/// Sizes of an `out` follow from those of the other arguments.
// SIZES-LABEL: func.func @sizes(%x: tensor<5xf32>) -> tensor<4xf32>
//       SIZES:   graph.kernel @between(%x, out) : (tensor<5xf32>) -> tensor<4xf32>
func.func @sizes(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = graph.kernel @between(%x, out) : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

/// It is pure: equal ones are one, what nobody uses goes; but no fusion takes it in, and constants are not folded into it.
// PASSES-LABEL: func.func @passes
//       PASSES:   graph.const
//       PASSES:   graph.fusion
//       PASSES:     graph.exp
//       PASSES:   %[[Z:.+]] = graph.kernel @saxpy(%{{.*}}, %{{.*}}, inout %y)
//   PASSES-NOT:   graph.kernel
//       PASSES:   graph.fusion (%{{.*}} = %[[Z]] : tensor<8xf32>)
//       PASSES:     graph.add
//       PASSES:     graph.neg
func.func @passes(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %a = graph.const dense<2.0> : tensor<f32>
  %e = graph.exp %x : tensor<8xf32>
  %u = graph.kernel @saxpy(%a, %e, inout %y) : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %v = graph.kernel @saxpy(%a, %e, inout %y) : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %w = graph.kernel @saxpy(%a, %x, inout %y) : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s = graph.add %u, %v : tensor<8xf32>
  %n = graph.neg %s : tensor<8xf32>
  return %n : tensor<8xf32>
}
