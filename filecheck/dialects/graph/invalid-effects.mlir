// RUN: lamina-opt %s --verify-diagnostics --split-input-file

/// One case for every constraint of the effects and of graph.after.

func.func @print_c1_position(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.print' op text must name values from {0} on, of which there are 1, got {1}}}
  graph.print "{0} {1}"(%x) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @print_c1_no_format(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.print' op text is no format:}}
  graph.print "{0"(%x) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @print_c2_batch(%m: tensor<3xi1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.print' op needs values and results that begin with the 1 dims of one batch}}
  graph.print where %m "{0}"(%x) batch 1 : (tensor<3xi1>, tensor<4xf32>) -> ()
  return
}

// -----

func.func @print_c2_condition(%m: tensor<4xi1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.print' op condition must be of i1, of the dims of the batch, got tensor<4xi1>}}
  graph.print where %m "{0}"(%x) : (tensor<4xi1>, tensor<4xf32>) -> ()
  return
}

// -----

func.func @print_c3_results(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.print' op has no results}}
  %y = graph.print "{0}"(%x) : (tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func @assert_c1_name(%ok: tensor<i1>, %x: tensor<f32>) {
  // expected-error@+1 {{'graph.assert' op text must name values from {0} on, of which there are 1, got {x}}}
  graph.assert %ok "{x}"(%x) : (tensor<i1>, tensor<f32>) -> ()
  return
}

// -----

func.func @assert_c2_bools(%ok: tensor<i64>) {
  // expected-error@+1 {{'graph.assert' op condition must be of i1, of the dims of the batch, got tensor<i64>}}
  graph.assert %ok "no"() : (tensor<i64>) -> ()
  return
}

// -----

func.func @assert_c3_results(%ok: tensor<i1>) -> tensor<f32> {
  // expected-error@+1 {{'graph.assert' op has no results}}
  %y = graph.assert %ok "no"() : (tensor<i1>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func @callback_c1_batch(%x: tensor<4xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{'graph.callback' op needs values and results that begin with the 1 dims of one batch}}
  %y = graph.callback "f"(%x) batch 1 : (tensor<4xf32>) -> (tensor<3xf32>)
  return %y : tensor<3xf32>
}

// -----

func.func @callback_c2_method(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.callback' op vmap must be one of none, sequential, expand_dims, broadcast_all, got twice}}
  %y = graph.callback "f"(%x) vmap twice : (tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func @after_c1_type(%x: tensor<4xf32>, %a: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.after' op result type must be tensor<4xf32>, got tensor<f32>}}
  %y = graph.after %x, %a : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
