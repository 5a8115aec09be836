// RUN: lamina-opt %s > %t && lamina-opt %t | diff %t - && lamina-opt %t --print-op-generic | lamina-opt | diff %t -
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt %s -p graph-split-complex,graph-decompose,convert-graph-to-loop | filecheck %s --check-prefix=LOOP
// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=llvmir > %t.ll

// CHECK-LABEL: @factors
//  CHECK-NEXT:   graph.cholesky %x : tensor<2x3x3xf32>
//  CHECK-NEXT:   graph.triangular_solve lower transposed unit %0, %x : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
//  CHECK-NEXT:   graph.lu %x : tensor<2x3x3xf32> -> (tensor<2x3x3xf32>, tensor<2x3xi32>)
//  CHECK-NEXT:   graph.permutation %{{.*}} of 4 : tensor<2x3xi32> -> tensor<2x4xi32>
//  CHECK-NEXT:   graph.householder %x : tensor<2x3x3xf32> -> (tensor<2x3x3xf32>, tensor<2x3x3xf32>)
//  CHECK-NEXT:   graph.qr complete %x : tensor<2x3x3xf32> -> (tensor<2x3x3xf32>, tensor<2x3x3xf32>)
//  CHECK-NEXT:   graph.eigh %x : tensor<2x3x3xf32> -> (tensor<2x3xf32>, tensor<2x3x3xf32>)
//  CHECK-NEXT:   graph.householder_product %{{.*}} of 3 : tensor<2x3x3xf32> -> tensor<2x3x3xf32>
//  CHECK-NEXT:   graph.square_svd vectors %x : tensor<2x3x3xf32> -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3x3xf32>)
//  CHECK-NEXT:   graph.square_svd values %x : tensor<2x3x3xf32> -> tensor<2x3xf32>
//  CHECK-NEXT:   graph.svd reduced %x : tensor<2x3x3xf32> -> (tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>)
//  CHECK-NEXT:   graph.solve plain %x, %x : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
//  CHECK-NEXT:   graph.det %x : tensor<2x3x3xf32> -> tensor<2xf32>
//  CHECK-NEXT:   graph.pinv %x, %{{.*}} : (tensor<2x3x3xf32>, tensor<2xf32>) -> tensor<2x3x3xf32>
func.func @factors(%x: tensor<2x3x3xf32>) {
  %0 = graph.cholesky %x : tensor<2x3x3xf32>
  %1 = graph.triangular_solve lower transposed unit %0, %x : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %2, %3 = graph.lu %x : tensor<2x3x3xf32> -> (tensor<2x3x3xf32>, tensor<2x3xi32>)
  %4 = graph.permutation %3 of 4 : tensor<2x3xi32> -> tensor<2x4xi32>
  %5, %6 = graph.householder %x : tensor<2x3x3xf32> -> (tensor<2x3x3xf32>, tensor<2x3x3xf32>)
  %7, %8 = graph.qr complete %x : tensor<2x3x3xf32> -> (tensor<2x3x3xf32>, tensor<2x3x3xf32>)
  %9, %10 = graph.eigh %x : tensor<2x3x3xf32> -> (tensor<2x3xf32>, tensor<2x3x3xf32>)
  %11 = graph.householder_product %5 of 3 : tensor<2x3x3xf32> -> tensor<2x3x3xf32>
  %12, %20, %21 = graph.square_svd vectors %x : tensor<2x3x3xf32> -> (tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3x3xf32>)
  %22 = graph.square_svd values %x : tensor<2x3x3xf32> -> tensor<2x3xf32>
  %13, %14, %15 = graph.svd reduced %x : tensor<2x3x3xf32> -> (tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>)
  %16 = graph.solve plain %x, %x : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %17 = graph.det %x : tensor<2x3x3xf32> -> tensor<2xf32>
  %18 = graph.pinv %x, %17 : (tensor<2x3x3xf32>, tensor<2xf32>) -> tensor<2x3x3xf32>
  return
}

/// Complex matrices are whole, or planes: real parts, then imaginary parts.
// CHECK-LABEL: @complex
//  CHECK-NEXT:   graph.lu %z : tensor<3x3xcomplex<f32>> -> (tensor<3x3xcomplex<f32>>, tensor<3xi32>)
//  CHECK-NEXT:   graph.lu %x, %y : (tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xi32>, tensor<3x3xf32>)
//  CHECK-NEXT:   graph.eig values %x : tensor<3x3xf32> -> (tensor<3xf32>, tensor<3xf32>)
//  CHECK-NEXT:   graph.eig vectors %x, %y : (tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<3x3xf32>)
//  CHECK-NEXT:   graph.schur triangular %x : tensor<3x3xf32> -> (tensor<3x3xf32>, tensor<3x3xf32>)
//  CHECK-NEXT:   graph.schur hessenberg %x, %y : (tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
func.func @complex(%z: tensor<3x3xcomplex<f32>>, %x: tensor<3x3xf32>, %y: tensor<3x3xf32>) {
  %0, %1 = graph.lu %z : tensor<3x3xcomplex<f32>> -> (tensor<3x3xcomplex<f32>>, tensor<3xi32>)
  %2, %3, %4 = graph.lu %x, %y : (tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xi32>, tensor<3x3xf32>)
  %5, %6 = graph.eig values %x : tensor<3x3xf32> -> (tensor<3xf32>, tensor<3xf32>)
  %7, %8, %9, %10 = graph.eig vectors %x, %y : (tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<3x3xf32>)
  %11, %12 = graph.schur triangular %x : tensor<3x3xf32> -> (tensor<3x3xf32>, tensor<3x3xf32>)
  %13, %14, %15, %16 = graph.schur hessenberg %x, %y : (tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
  return
}

func.func @down(%a: tensor<9x9xf32>, %y: tensor<9x40xf32>) -> tensor<9x40xf32> {
  %x = graph.triangular_solve lower plain given %a, %y : (tensor<9x9xf32>, tensor<9x40xf32>) -> tensor<9x40xf32>
  return %x : tensor<9x40xf32>
}

func.func @sizes(%x: tensor<70x9xf32>) -> tensor<70x9xf32> {
  %q, %r = graph.qr reduced %x : tensor<70x9xf32> -> (tensor<70x9xf32>, tensor<9x9xf32>)
  return %q : tensor<70x9xf32>
}

/// Columns are independent; a row is what is left of the right side, without the rows that are known, over the diagonal.
// LOOP-LABEL: loop.kernel @triangular_solve{{[_0-9]*}}(%a: memref<9x9xf32>, %y: memref<9x40xf32>
//  LOOP-NEXT:   arith.constant
//  LOOP-NEXT:   loop.for parallel %{{.*}} = 0 to 40 {
//  LOOP-NEXT:     loop.for seq %[[I:.*]] = 0 to 9 {
//  LOOP-NEXT:       loop.for reduce<add> %{{.*}} = 0 to %[[I]]

/// A QR factorization is one of reflectors and products.
// LOOP-LABEL: loop.kernel @householder

/// More than 64 columns: one loop over blocks of columns, each of which reduces those behind it by products of blocks.
// LOOP-LABEL: loop.kernel @lu{{[_0-9]*}}(%{{.*}}: memref<130x130xf32>
//       LOOP:   loop.for seq %[[K:.*]] = 0 to 3 {
//       LOOP:     loop.for parallel %[[C:.*]] = %[[K]] + 1 to 3 {
//       LOOP:       loop.for seq %{{.*}} = %[[K]] + 1 to 3 {
//  LOOP-NEXT:         loop.for parallel %{{.*}} = 0 to 64 {
//  LOOP-NEXT:           loop.for parallel %{{.*}} = 0 to 64 {
//  LOOP-NEXT:             loop.for reduce<add> %{{.*}} = 0 to 64
func.func @large(%x: tensor<130x130xf32>) -> (tensor<130x130xf32>, tensor<130xi32>) {
  %y, %p = graph.lu %x : tensor<130x130xf32> -> (tensor<130x130xf32>, tensor<130xi32>)
  return %y, %p : tensor<130x130xf32>, tensor<130xi32>
}
