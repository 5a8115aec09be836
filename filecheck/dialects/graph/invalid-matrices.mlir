// RUN: lamina-opt %s --split-input-file --verify-diagnostics

/// Every constraint of the ops on matrices.

func.func @cholesky_c1_element(%x: tensor<3x3xi32>) {
  // expected-error@+1 {{'graph.cholesky' op element type must be f32 or f64, or complex of them, got i32}}
  %r = graph.cholesky %x : tensor<3x3xi32>
  return
}

// -----

func.func @cholesky_c2_rank(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.cholesky' op matrices need two dims or more, of known sizes, got [3]}}
  %r = graph.cholesky %x : tensor<3xf32>
  return
}

// -----

func.func @cholesky_c2_square(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.cholesky' op matrices must be square, got [2,3]}}
  %r = graph.cholesky %x : tensor<2x3xf32>
  return
}

// -----

func.func @eigh_c1_element(%x: tensor<3x3xi32>) {
  // expected-error@+1 {{'graph.eigh' op element type must be f32 or f64, or complex of them, got i32}}
  %r0, %r1 = graph.eigh %x : tensor<3x3xi32> -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @eigh_c2_rank(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.eigh' op matrices need two dims or more, of known sizes, got [3]}}
  %r0, %r1 = graph.eigh %x : tensor<3xf32> -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @eigh_c2_square(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.eigh' op matrices must be square, got [2,3]}}
  %r0, %r1 = graph.eigh %x : tensor<2x3xf32> -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @eig_c1_element(%x: tensor<3x3xi32>) {
  // expected-error@+1 {{'graph.eig' op element type must be f32 or f64, or complex of them, got i32}}
  %r0, %r1 = graph.eig values %x : tensor<3x3xi32> -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @eig_c1_parts(%x: tensor<3x3xf32>, %y: tensor<3x3xf64>) {
  // expected-error@+1 {{'graph.eig' op takes 1 operands, or their real and then their imaginary parts, got tensor<3x3xf32>, tensor<3x3xf64>}}
  %r0, %r1 = graph.eig values %x, %y : (tensor<3x3xf32>, tensor<3x3xf64>) -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @eig_c2_square(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.eig' op matrices must be square, got [2,3]}}
  %r0, %r1 = graph.eig values %x : tensor<2x3xf32> -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @eig_c2_rank(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.eig' op matrices need two dims or more, of known sizes, got [3]}}
  %r0, %r1 = graph.eig values %x : tensor<3xf32> -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @eig_c3_mode(%x: tensor<3x3xf32>) {
  // expected-error@+1 {{'graph.eig' op mode must be one of values, vectors, got left}}
  %r0, %r1 = graph.eig left %x : tensor<3x3xf32> -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @schur_c1_element(%x: tensor<3x3xi32>) {
  // expected-error@+1 {{'graph.schur' op element type must be f32 or f64, or complex of them, got i32}}
  %r0, %r1 = graph.schur triangular %x : tensor<3x3xi32> -> (tensor<3x3xi32>, tensor<3x3xi32>)
  return
}

// -----

func.func @schur_c2_square(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.schur' op matrices must be square, got [2,3]}}
  %r0, %r1 = graph.schur triangular %x : tensor<2x3xf32> -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @schur_c3_form(%x: tensor<3x3xf32>) {
  // expected-error@+1 {{'graph.schur' op form must be one of triangular, hessenberg, got diagonal}}
  %r0, %r1 = graph.schur diagonal %x : tensor<3x3xf32> -> (tensor<3x3xf32>, tensor<3x3xf32>)
  return
}

// -----

func.func @cholesky_c1_parts(%x: tensor<3x3xf32>) {
  // expected-error@+1 {{'graph.cholesky' op takes 1 operands, or their real and then their imaginary parts, got}}
  %r = graph.cholesky %x, %x, %x : tensor<3x3xf32>
  return
}

// -----

func.func @square_svd_c1_element(%x: tensor<3x3xi32>) {
  // expected-error@+1 {{'graph.square_svd' op element type must be f32 or f64, or complex of them, got i32}}
  %r0 = graph.square_svd values %x : tensor<3x3xi32> -> tensor<3xf32>
  return
}

// -----

func.func @square_svd_c2_rank(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.square_svd' op matrices need two dims or more, of known sizes, got [3]}}
  %r0 = graph.square_svd values %x : tensor<3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @square_svd_c2_square(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.square_svd' op matrices must be square, got [2,3]}}
  %r0 = graph.square_svd values %x : tensor<2x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @square_svd_c3_mode(%x: tensor<3x3xf32>) {
  // expected-error@+1 {{'graph.square_svd' op mode must be one of values, vectors, got sizes}}
  %r0 = graph.square_svd sizes %x : tensor<3x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @householder_product_c1_element(%x: tensor<3x3xi32>) {
  // expected-error@+1 {{'graph.householder_product' op element type must be f32 or f64, or complex of them, got i32}}
  %r0 = graph.householder_product %x of 3 : tensor<3x3xi32> -> tensor<3x3xi32>
  return
}

// -----

func.func @householder_product_c2_rank(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.householder_product' op matrices need two dims or more, of known sizes, got [3]}}
  %r0 = graph.householder_product %x of 3 : tensor<3xf32> -> tensor<3x3xf32>
  return
}

// -----

func.func @householder_product_c3_columns(%x: tensor<4x2xf32>) {
  // expected-error@+1 {{'graph.householder_product' op columns must be from 2, as many as reflectors, to 4, as many as rows, got 5}}
  %r0 = graph.householder_product %x of 5 : tensor<4x2xf32> -> tensor<4x5xf32>
  return
}

// -----

func.func @det_c1_element(%x: tensor<3x3xi32>) {
  // expected-error@+1 {{'graph.det' op element type must be f32 or f64, or complex of them, got i32}}
  %r0 = graph.det %x : tensor<3x3xi32> -> tensor<3xf32>
  return
}

// -----

func.func @det_c2_rank(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.det' op matrices need two dims or more, of known sizes, got [3]}}
  %r0 = graph.det %x : tensor<3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @det_c2_square(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.det' op matrices must be square, got [2,3]}}
  %r0 = graph.det %x : tensor<2x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @lu_c1_element(%x: tensor<3x3xi32>) {
  // expected-error@+1 {{'graph.lu' op element type must be f32 or f64, or complex of them, got i32}}
  %r0, %r1 = graph.lu %x : tensor<3x3xi32> -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @lu_c2_rank(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.lu' op matrices need two dims or more, of known sizes, got [3]}}
  %r0, %r1 = graph.lu %x : tensor<3xf32> -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @householder_c1_element(%x: tensor<3x3xi32>) {
  // expected-error@+1 {{'graph.householder' op element type must be f32 or f64, or complex of them, got i32}}
  %r0, %r1 = graph.householder %x : tensor<3x3xi32> -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @householder_c2_rank(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.householder' op matrices need two dims or more, of known sizes, got [3]}}
  %r0, %r1 = graph.householder %x : tensor<3xf32> -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @qr_c1_element(%x: tensor<3x3xi32>) {
  // expected-error@+1 {{'graph.qr' op element type must be f32 or f64, or complex of them, got i32}}
  %q, %r = graph.qr reduced %x : tensor<3x3xi32> -> (tensor<3x3xf32>, tensor<3x3xf32>)
  return
}

// -----

func.func @qr_c2_rank(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.qr' op matrices need two dims or more, of known sizes, got [3]}}
  %q, %r = graph.qr reduced %x : tensor<3xf32> -> (tensor<3x3xf32>, tensor<3x3xf32>)
  return
}

// -----

func.func @qr_c3_mode(%x: tensor<3x3xf32>) {
  // expected-error@+1 {{'graph.qr' op mode must be one of reduced, complete, got full}}
  %q, %r = graph.qr full %x : tensor<3x3xf32> -> (tensor<3x3xf32>, tensor<3x3xf32>)
  return
}

// -----

func.func @svd_c1_element(%x: tensor<3x3xi32>) {
  // expected-error@+1 {{'graph.svd' op element type must be f32 or f64, or complex of them, got i32}}
  %u, %s, %v = graph.svd reduced %x : tensor<3x3xi32> -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
  return
}

// -----

func.func @svd_c2_rank(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.svd' op matrices need two dims or more, of known sizes, got [3]}}
  %u, %s, %v = graph.svd reduced %x : tensor<3xf32> -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
  return
}

// -----

func.func @svd_c3_mode(%x: tensor<3x3xf32>) {
  // expected-error@+1 {{'graph.svd' op mode must be one of reduced, complete, got full}}
  %u, %s, %v = graph.svd full %x : tensor<3x3xf32> -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
  return
}

// -----

func.func @triangular_solve_c1_element(%a: tensor<3x3xf32>, %y: tensor<3x5xf64>) {
  // expected-error@+1 {{'graph.triangular_solve' op operand element types must be equal, the matrix is f32, the right side is f64}}
  %r = graph.triangular_solve lower plain given %a, %y : (tensor<3x3xf32>, tensor<3x5xf64>) -> tensor<3x5xf64>
  return
}

// -----

func.func @triangular_solve_c1_float(%a: tensor<3x3xi32>, %y: tensor<3x5xi32>) {
  // expected-error@+1 {{'graph.triangular_solve' op element type must be f32 or f64, or complex of them, got i32}}
  %r = graph.triangular_solve lower plain given %a, %y : (tensor<3x3xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  return
}

// -----

func.func @triangular_solve_c2_square(%a: tensor<3x4xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{'graph.triangular_solve' op matrices must be square, got [3,4]}}
  %r = graph.triangular_solve lower plain given %a, %y : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @triangular_solve_c2_rows(%a: tensor<3x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error@+1 {{'graph.triangular_solve' op rows and leading dims must be equal, of the matrix [3,3], the right side [4,5]}}
  %r = graph.triangular_solve lower plain given %a, %y : (tensor<3x3xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @solve_c1_element(%a: tensor<3x3xf32>, %y: tensor<3x5xf64>) {
  // expected-error@+1 {{'graph.solve' op operand element types must be equal, the matrix is f32, the right side is f64}}
  %r = graph.solve plain %a, %y : (tensor<3x3xf32>, tensor<3x5xf64>) -> tensor<3x5xf64>
  return
}

// -----

func.func @solve_c1_float(%a: tensor<3x3xi32>, %y: tensor<3x5xi32>) {
  // expected-error@+1 {{'graph.solve' op element type must be f32 or f64, or complex of them, got i32}}
  %r = graph.solve plain %a, %y : (tensor<3x3xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  return
}

// -----

func.func @solve_c2_square(%a: tensor<3x4xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{'graph.solve' op matrices must be square, got [3,4]}}
  %r = graph.solve plain %a, %y : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @solve_c2_rows(%a: tensor<3x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error@+1 {{'graph.solve' op rows and leading dims must be equal, of the matrix [3,3], the right side [4,5]}}
  %r = graph.solve plain %a, %y : (tensor<3x3xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @triangular_solve_c3_side(%a: tensor<3x3xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{'graph.triangular_solve' op side must be one of lower, upper, got left}}
  %r = graph.triangular_solve left plain given %a, %y : (tensor<3x3xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @triangular_solve_c3_diagonal(%a: tensor<3x3xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{'graph.triangular_solve' op diagonal must be one of given, unit, got one}}
  %r = graph.triangular_solve lower plain one %a, %y : (tensor<3x3xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @solve_c3_form(%a: tensor<3x3xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{'graph.solve' op form must be one of plain, transposed, got other}}
  %r = graph.solve other %a, %y : (tensor<3x3xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @permutation_c1_element(%p: tensor<3xi64>) {
  // expected-error@+1 {{'graph.permutation' op pivots must be vectors of i32, got tensor<3xi64>}}
  %r = graph.permutation %p of 4 : tensor<3xi64> -> tensor<4xi32>
  return
}

// -----

func.func @permutation_c2_rows(%p: tensor<3xi32>) {
  // expected-error@+1 {{'graph.permutation' op rows must be as many as exchanges or more, got 2 rows and 3 exchanges}}
  %r = graph.permutation %p of 2 : tensor<3xi32> -> tensor<2xi32>
  return
}

// -----

func.func @pinv_c1_element(%x: tensor<3x2xf32>, %t: tensor<f64>) {
  // expected-error@+1 {{'graph.pinv' op rtol must have the element type of parts of the matrix, the matrix is f32, rtol is f64}}
  %r = graph.pinv %x, %t : (tensor<3x2xf32>, tensor<f64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pinv_c2_lead(%x: tensor<3x2xf32>, %t: tensor<3xf32>) {
  // expected-error@+1 {{'graph.pinv' op rtol must have the leading dims [], got [3]}}
  %r = graph.pinv %x, %t : (tensor<3x2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}
