// RUN: lamina-opt %s --split-input-file --verify-diagnostics

/// Every constraint of gather, scatter and embedding.

func.func @gather_c1_count(%x: tensor<9x4xf32>, %i: tensor<5xi64>) {
  // expected-error@+1 {{'graph.gather' op needs one index tensor for each of the dims [0, 1], got 1}}
  %r = graph.gather %x, %i at [0, 1] : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5xf32>
  return
}

// -----

func.func @gather_c1_element_type(%x: tensor<9x4xf32>, %m: tensor<9xi1>) {
  // expected-error@+1 {{'graph.gather' op indices must be i32 or i64, got i1}}
  %r = graph.gather %x, %m at [0] : (tensor<9x4xf32>, tensor<9xi1>) -> tensor<9x4xf32>
  return
}

// -----

func.func @gather_c1_shapes(%x: tensor<9x4xf32>, %i: tensor<5xi64>, %j: tensor<6xi64>) {
  // expected-error@+1 {{'graph.gather' op indices must have one shape, number 0 is [5], 1 is [6]}}
  %r = graph.gather %x, %i, %j at [0, 1] : (tensor<9x4xf32>, tensor<5xi64>, tensor<6xi64>) -> tensor<5xf32>
  return
}

// -----

func.func @gather_c2_dims(%x: tensor<9x4xf32>, %i: tensor<5xi64>) {
  // expected-error@+1 {{'graph.gather' op addressed and batch dims must be distinct, got [0, 0]}}
  %r = graph.gather %x, %i at [0] batch [0] : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  return
}

// -----

func.func @gather_c3_sizes(%x: tensor<9x4xf32>, %i: tensor<5xi64>) {
  // expected-error@+1 {{'graph.gather' op window needs one size for each of the dims [0], got [2, 2]}}
  %r = graph.gather %x, %i at [0] window [2, 2] : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @gather_c3_too_large(%x: tensor<9x4xf32>, %i: tensor<5xi64>) {
  // expected-error@+1 {{'graph.gather' op a slice takes 10 of dim 0, which has 9 of [9,4]}}
  %r = graph.gather %x, %i at [0] window [10] : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5x10x4xf32>
  return
}

// -----

func.func @gather_c3_nothing_there(%x: tensor<0x4xf32>, %i: tensor<5xi64>) {
  // expected-error@+1 {{'graph.gather' op a slice takes 1 of dim 0, which has 0 of [0,4]}}
  %r = graph.gather %x, %i at [0] : (tensor<0x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  return
}

// -----

func.func @gather_c4_batch(%x: tensor<9x4xf32>, %i: tensor<5xi64>) {
  // expected-error@+1 {{'graph.gather' op batch dims [0] of [9,4] must have the sizes of the first dims of the indices, [5]}}
  %r = graph.gather %x, %i at [1] batch [0] : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5xf32>
  return
}

// -----

func.func @scatter_c1_element_type(%x: tensor<9x4xf32>, %u: tensor<5x4xf32>, %i: tensor<5xf32>) {
  // expected-error@+1 {{'graph.scatter' op indices must be i32 or i64, got f32}}
  %r = graph.scatter set %x, %u, %i at [0] : (tensor<9x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_c4_batch(%x: tensor<9x4xf32>, %u: tensor<5xf32>, %i: tensor<5xi32>) {
  // expected-error@+1 {{'graph.scatter' op batch dims [0] of [9,4] must have the sizes of the first dims of the indices, [5]}}
  %r = graph.scatter set %x, %u, %i at [1] batch [0] : (tensor<9x4xf32>, tensor<5xf32>, tensor<5xi32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_c5_element_type(%x: tensor<9x4xf32>, %u: tensor<5x4xf64>, %i: tensor<5xi64>) {
  // expected-error@+1 {{'graph.scatter' op operand element types must be equal, the operand is f32, updates is f64}}
  %r = graph.scatter set %x, %u, %i at [0] : (tensor<9x4xf32>, tensor<5x4xf64>, tensor<5xi64>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_c5_shape(%x: tensor<9x4xf32>, %u: tensor<4xf32>, %i: tensor<5xi64>) {
  // expected-error@+1 {{'graph.scatter' op updates must have the shape of the slices, [5,4], got [4]}}
  %r = graph.scatter set %x, %u, %i at [0] : (tensor<9x4xf32>, tensor<4xf32>, tensor<5xi64>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_c6_kind(%x: tensor<9x4xf32>, %u: tensor<5x4xf32>, %i: tensor<5xi64>) {
  // expected-error@+1 {{'graph.scatter' op kind must be one of set, add, mul, max, min, got sub}}
  %r = graph.scatter sub %x, %u, %i at [0] : (tensor<9x4xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<9x4xf32>
  return
}

// -----

func.func @scatter_c6_bool(%x: tensor<9xi1>, %u: tensor<5xi1>, %i: tensor<5xi64>) {
  // expected-error@+1 {{'graph.scatter' op cannot scatter i1 by add}}
  %r = graph.scatter add %x, %u, %i at [0] : (tensor<9xi1>, tensor<5xi1>, tensor<5xi64>) -> tensor<9xi1>
  return
}

// -----

func.func @embedding_c1_ids(%ids: tensor<8xf32>, %t: tensor<9x4xf32>) {
  // expected-error@+1 {{'graph.embedding' op ids must be i32 or i64, got f32}}
  %r = graph.embedding %ids, %t : (tensor<8xf32>, tensor<9x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @embedding_c2_table(%ids: tensor<8xi64>, %t: tensor<9xf32>) {
  // expected-error@+1 {{'graph.embedding' op the table needs rows and columns, got [9]}}
  %r = graph.embedding %ids, %t : (tensor<8xi64>, tensor<9xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @scan_c1_kind(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.scan' op kind must be one of add, mul, max, min, got and}}
  %r = graph.scan and %x along 1 forward inclusive : tensor<2x3xf32>
  return
}

// -----

func.func @scan_c1_bool(%x: tensor<2x3xi1>) {
  // expected-error@+1 {{'graph.scan' op cannot scan i1 by mul}}
  %r = graph.scan mul %x along 1 forward inclusive : tensor<2x3xi1>
  return
}

// -----

func.func @scan_c2_dim(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.scan' op dim must be within the rank, got 2 for [2,3]}}
  %r = graph.scan add %x along 2 forward inclusive : tensor<2x3xf32>
  return
}

// -----

func.func @scan_c3_direction(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.scan' op direction must be one of forward, reverse, got backward}}
  %r = graph.scan add %x along 1 backward inclusive : tensor<2x3xf32>
  return
}

// -----

func.func @scan_c3_bound(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.scan' op bound must be one of inclusive, exclusive, got open}}
  %r = graph.scan add %x along 1 forward open : tensor<2x3xf32>
  return
}

// -----

func.func @recurrence_c1_element_type(%x: tensor<3xi32>) {
  // expected-error@+1 {{'graph.recurrence' op element type must be f32 or f64, got i32}}
  %r = graph.recurrence %x, %x along 0 forward : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  return
}

// -----

func.func @recurrence_c2_dim(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.recurrence' op dim must be within the rank, got 1 for [3]}}
  %r = graph.recurrence %x, %x along 1 forward : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @recurrence_c3_direction(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.recurrence' op direction must be one of forward, reverse, got up}}
  %r = graph.recurrence %x, %x along 0 up : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @sort_c1_shapes(%x: tensor<2x3xf32>, %i: tensor<3x2xi64>) {
  // expected-error@+1 {{'graph.sort' op operand shapes must be equal, operand 0 is [2,3], operand 1 is [3,2]}}
  %r, %s = graph.sort %x, %i keys 1 : (tensor<2x3xf32>, tensor<3x2xi64>) -> (tensor<2x3xf32>, tensor<3x2xi64>)
  return
}

// -----

func.func @sort_c1_rank(%x: tensor<f32>) {
  // expected-error@+1 {{'graph.sort' op rows need a dim, got []}}
  %r = graph.sort %x keys 1 : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @sort_c2_keys(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.sort' op keys must be between 1 and the number of operands, 1, got 2}}
  %r = graph.sort %x keys 2 : tensor<3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @argsort_c1_shapes(%x: tensor<2x3xf32>, %i: tensor<3x2xi64>) {
  // expected-error@+1 {{'graph.argsort' op operand shapes must be equal, operand 0 is [2,3], operand 1 is [3,2]}}
  %r = graph.argsort %x, %i : (tensor<2x3xf32>, tensor<3x2xi64>) -> tensor<2x3xi64>
  return
}

// -----

func.func @argsort_c1_rank(%x: tensor<f32>) {
  // expected-error@+1 {{'graph.argsort' op rows need a dim, got []}}
  %r = graph.argsort %x : tensor<f32> -> tensor<i64>
  return
}

// -----

func.func @argsort_c2_no_keys() {
  // expected-error@+1 {{'graph.argsort' op keys must be at least 1, got none}}
  %r = "graph.argsort"() : () -> tensor<3xi64>
  return
}

// -----

func.func @sort_c2_no_keys(%x: tensor<3xf32>) {
  // expected-error@+1 {{'graph.sort' op keys must be between 1 and the number of operands, 1, got 0}}
  %r = graph.sort %x keys 0 : tensor<3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @top_k_c1_rank(%x: tensor<f32>) {
  // expected-error@+1 {{'graph.top_k' op rows need a dim, got []}}
  %r, %s = graph.top_k %x first 1 : tensor<f32> -> (tensor<1xf32>, tensor<1xi64>)
  return
}

// -----

func.func @top_k_c2_size(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.top_k' op k must be within the size of rows, got 4 of 3}}
  %r, %s = graph.top_k %x first 4 : tensor<2x3xf32> -> (tensor<2x4xf32>, tensor<2x4xi64>)
  return
}
