// RUN: lamina-opt %s --verify-diagnostics --split-input-file

/// One case for every constraint of graph.kernel.

func.func @kernel_c1_name(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.kernel' op names no kernel of the module: @k}}
  %r = graph.kernel @k(%x, out) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

loop.kernel @k(%y: memref<4xf32>, %n: index) {
  %c = arith.constant 0.0 : f32
  loop.store %c, %y[0] : memref<4xf32>
}
func.func @kernel_c1_index_that_is_no_size() {
  // expected-error@+1 {{'graph.kernel' op kernel @k cannot be called: no size or stride of an argument gives 'n'}}
  %r = graph.kernel @k(out) : () -> tensor<4xf32>
  return
}

// -----

loop.kernel @k(%y: memref<?xf32>, %n: index) shapes(%y[%n * 2]) {
  %c = arith.constant 0.0 : f32
  loop.store %c, %y[0] : memref<?xf32>
}
func.func @kernel_c1_size_that_is_no_symbol() {
  // expected-error@+1 {{'graph.kernel' op kernel @k cannot be called: a size or stride must be a symbol plus a number, got (d0 * 2)}}
  %r = graph.kernel @k(out) : () -> tensor<4xf32>
  return
}

// -----

loop.kernel @fill(%a: f32, %y: memref<?xf32>, %N: index) shapes(%y[%N]) {
  loop.for parallel %i = 0 to %N {
    loop.store %a, %y[%i] : memref<?xf32>
  }
}
func.func @kernel_c2_arguments() {
  // expected-error@+1 {{'graph.kernel' op must have one argument for each of the 2 parameters of @fill (a, y), got 1}}
  %r = graph.kernel @fill(out) : () -> tensor<4xf32>
  return
}
func.func @kernel_c2_results(%a: tensor<f32>) {
  // expected-error@+1 {{'graph.kernel' op must have an operand for each argument but `out`, and a result for each `out` and `inout`}}
  %r, %s = graph.kernel @fill(%a, out) : (tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}
func.func @kernel_c3_writes(%a: tensor<f32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'graph.kernel' op must say `out` or `inout` of what it writes, @fill writes 'y'}}
  graph.kernel @fill(%a, %y) : (tensor<f32>, tensor<4xf32>) -> ()
  return
}
func.func @kernel_c3_does_not_write(%a: tensor<f32>) {
  // expected-error@+1 {{'graph.kernel' op must say `out` or `inout` of what it writes, @fill does not write 'a'}}
  %r, %s = graph.kernel @fill(inout %a, out) : (tensor<f32>) -> (tensor<f32>, tensor<4xf32>)
  return
}
func.func @kernel_c5_element_type(%a: tensor<f64>) {
  // expected-error@+1 {{'graph.kernel' op kernel 'fill' argument 'a' must be of float32, got float64[]; convert it with .astype('float32')}}
  %r = graph.kernel @fill(%a, out) : (tensor<f64>) -> tensor<4xf32>
  return
}
func.func @kernel_c5_number(%a: tensor<1xf32>) {
  // expected-error@+1 {{'graph.kernel' op kernel 'fill' argument 'a' must be a number, got float32[1]}}
  %r = graph.kernel @fill(%a, out) : (tensor<1xf32>) -> tensor<4xf32>
  return
}
func.func @kernel_c5_rank(%a: tensor<f32>) {
  // expected-error@+1 {{'graph.kernel' op kernel 'fill' argument 'y' must be float32[N], got float32[2,2]; reshape it}}
  %r = graph.kernel @fill(%a, out) : (tensor<f32>) -> tensor<2x2xf32>
  return
}
func.func @kernel_c6_result(%a: tensor<f32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'graph.kernel' op result of an inout must be tensor<4xf32>, got tensor<5xf32>}}
  %r = graph.kernel @fill(%a, inout %y) : (tensor<f32>, tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

loop.kernel @add(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?x4xf32, strided<[8, 1]>>, %N: index)
    shapes(%x[%N + 2], %y[%N], %z[%N, 4] strides [8, 1]) {
  loop.for parallel %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    %b = loop.load %y[%i] : memref<?xf32>
    %c = arith.addf %a, %b : f32
    loop.store %c, %y[%i] : memref<?xf32>
  }
}
func.func @kernel_c4_reads(%x: tensor<6xf32>, %z: tensor<4x4xf32>) {
  // expected-error@+1 {{'graph.kernel' op needs initial contents, inout %..., for what it reads: @add reads 'y'}}
  %r = graph.kernel @add(%x, out, %z) : (tensor<6xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return
}
func.func @kernel_c5_sizes(%x: tensor<6xf32>, %y: tensor<5xf32>, %z: tensor<4x4xf32>) {
  // expected-error@+1 {{'graph.kernel' op kernel 'add' size 'N' is 4 by dim 0 of argument 'x' (float32[N + 2], got float32[6]) and 5 by dim 0 of argument 'y' (float32[N], got float32[5]); pass arrays that agree}}
  %r = graph.kernel @add(%x, inout %y, %z) : (tensor<6xf32>, tensor<5xf32>, tensor<4x4xf32>) -> tensor<5xf32>
  return
}
func.func @kernel_c5_negative(%x: tensor<1xf32>, %y: tensor<5xf32>, %z: tensor<4x4xf32>) {
  // expected-error@+1 {{'graph.kernel' op kernel 'add' argument 'x' must be float32[N + 2], got float32[1] with N = -1}}
  %r = graph.kernel @add(%x, inout %y, %z) : (tensor<1xf32>, tensor<5xf32>, tensor<4x4xf32>) -> tensor<5xf32>
  return
}
func.func @kernel_c5_fixed(%x: tensor<6xf32>, %y: tensor<4xf32>, %z: tensor<4x5xf32>) {
  // expected-error@+1 {{'graph.kernel' op kernel 'add' argument 'z' must be float32[N,4], got float32[4,5]; pass an array of that size}}
  %r = graph.kernel @add(%x, inout %y, %z) : (tensor<6xf32>, tensor<4xf32>, tensor<4x5xf32>) -> tensor<4xf32>
  return
}
func.func @kernel_c5_strides(%x: tensor<6xf32>, %y: tensor<4xf32>, %z: tensor<4x4xf32>) {
  // expected-error@+1 {{'graph.kernel' op kernel 'add' argument 'z' has dim 0 in steps of 8 elements, got float32[4,4] with steps of 4}}
  %r = graph.kernel @add(%x, inout %y, %z) : (tensor<6xf32>, tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

loop.kernel @fill(%a: f32, %y: memref<?xf32>, %N: index) shapes(%y[%N]) {
  loop.for parallel %i = 0 to %N {
    loop.store %a, %y[%i] : memref<?xf32>
  }
}
loop.kernel @other(%y: memref<4xf32>) {
}
func.func @kernel_c7_parameters(%a: tensor<f32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.kernel' op @other must have the parameters of @fill, which it is as written}}
  %r = graph.kernel @fill as_written @other(%a, out) : (tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
