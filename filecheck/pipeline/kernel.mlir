// RUN: lamina-opt %s --compile-to=program --validate-each | filecheck %s
// RUN: lamina-opt %s --compile-to=optimized | lamina-opt --compile-to=program | filecheck %s
// RUN: lamina-run %s --entry contents --args 2.0 iota:8xf32 zeros:8xf32 --compare | filecheck %s --check-prefix=VALUES
// RUN: not lamina-opt %S/Inputs/checked.mlir --compile-to=loop 2>&1 | filecheck %s --check-prefix=CHECKED

/// Steps of a schedule are for the kernel: the graph has all of its own before it.
// RUN: lamina-opt %s -p 'loop-vectorize{kernel=saxpy loop=i lanes=4}' --compile-to=program | filecheck %s --check-prefix=STEPS
// STEPS-LABEL: loop.kernel @saxpy
//       STEPS:   loop.for vector %i = 0 to (%N floordiv 4) * 4 step 4 {
// STEPS-LABEL: program.func @contents
//       STEPS:   loop.launch @sqrt(%z, %result)
// STEPS-LABEL: loop.kernel @sqrt
//       STEPS:   loop.for vector

/// Hand-written kernels stay as they are, and are launched as they are called.
// CHECK-LABEL: loop.kernel @saxpy
//  CHECK-SAME:   scheduled
//       CHECK:   loop.for seq %i = 0 to %N {
// CHECK-LABEL: loop.kernel @total
//       CHECK:   loop.for parallel %i = 0 to 8 {
//       CHECK:     loop.for reduce<add> %j = 0 to 8 init

loop.kernel @saxpy(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  loop.for seq %i = 0 to %N {
    %old = loop.load %y[%i] : memref<?xf32>
    %v = loop.load %x[%i] : memref<?xf32>
    %new = math.fma %a, %v, %old : f32
    loop.store %new, %y[%i] : memref<?xf32>
  }
}

loop.kernel @total(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.for parallel %i = 0 to 8 {
    %zero = arith.constant 0.0 : f32
    %s = loop.for reduce<add> %j = 0 to 8 init %zero : f32 {
      %v = loop.load %x[%j] : memref<8xf32>
      loop.yield %v : f32
    }
    loop.store %s, %y[%i] : memref<8xf32>
  }
}

/// Initial contents are copied where somebody else may use them, and made in place where not.
// CHECK-LABEL: program.func @contents
//       CHECK:   %[[A:.+]] = loop.load %a[] : memref<f32>
//       CHECK:   "memref.copy"(%y, %z)
//       CHECK:   %[[N:.+]] = arith.constant 8 : index
//       CHECK:   loop.launch @saxpy(%[[A]], %x, %z, %[[N]]) : (f32, memref<8xf32>, memref<8xf32>, index)
//       CHECK:   loop.launch @sqrt(%z, %result)
//   CHECK-NOT:   memref.copy
//       CHECK:   loop.launch @saxpy(%{{.*}}, %x, %result, %[[N]])
// VALUES-LABEL: result 0: largest difference 0, 0 of 8 elements differ
//       VALUES: 0. {{ *}}3.41421
func.func @contents(%a: tensor<f32>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %z = graph.kernel @saxpy(%a, %x, inout %y) : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %e = graph.sqrt %z : tensor<8xf32>
  %r = graph.kernel @saxpy(%a, %x, inout %e) : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

/// What is returned twice, or changed twice, has memory of its own each time.
// CHECK-LABEL: program.func @twice
//       CHECK:   loop.launch @total(%x, %t)
//       CHECK:   "memref.copy"(%t, %{{.*}})
//       CHECK:   loop.launch @saxpy
//       CHECK:   "memref.copy"(%t, %{{.*}})
//       CHECK:   loop.launch @saxpy
func.func @twice(%a: tensor<f32>, %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %t = graph.kernel @total(%x, out) : (tensor<8xf32>) -> tensor<8xf32>
  %u = graph.kernel @saxpy(%a, %x, inout %t) : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %v = graph.kernel @saxpy(%a, %t, inout %t) : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %u, %v, %u : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

/// A program has nobody to tell that a check has failed.
// CHECKED: checked.mlir:8:8: error: 'graph.kernel' op runs @k, which checks bounds: a program cannot stop in the middle
