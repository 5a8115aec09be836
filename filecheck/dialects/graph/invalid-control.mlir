// RUN: lamina-opt %s --verify-diagnostics --split-input-file

/// One case for every constraint of graph.for.

func.func private @step(%i: tensor<i64>, %h: tensor<4xf32>) -> tensor<4xf32> {
  return %h : tensor<4xf32>
}
func.func @for_c1_no_function(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.for' op names no function of the module: @missing}}
  %y = graph.for @missing count 3 consts() carry(%x) over() : (tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @step(%i: tensor<i64>, %h: tensor<4xf32>) -> tensor<4xf32> {
  return %h : tensor<4xf32>
}
func.func @for_c1_arguments(%x: tensor<5xf32>) -> tensor<5xf32> {
  // expected-error@+1 {{'graph.for' op body @step must take (tensor<i64>, tensor<5xf32>), it takes (tensor<i64>, tensor<4xf32>)}}
  %y = graph.for @step count 3 consts() carry(%x) over() : (tensor<5xf32>) -> (tensor<5xf32>)
  return %y : tensor<5xf32>
}

// -----

func.func private @step(%i: tensor<i64>, %h: tensor<4xf32>) -> tensor<f32> {
  %s = graph.reduce add %h over [0] : tensor<4xf32> -> tensor<f32>
  return %s : tensor<f32>
}
func.func @for_c1_returns(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.for' op body @step must return the carried values (tensor<4xf32>) first, it returns (tensor<f32>)}}
  %y = graph.for @step count 3 consts() carry(%x) over() : (tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @step(%i: tensor<i64>, %h: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %s = graph.add %h, %x : tensor<f32>
  return %s : tensor<f32>
}
func.func @for_c2_first_dim(%h: tensor<f32>, %xs: tensor<4xf32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.for' op stacks need a first dim of 3, got tensor<4xf32>}}
  %y = graph.for @step count 3 consts() carry(%h) over(%xs) : (tensor<f32>, tensor<4xf32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func private @step(%i: tensor<i64>, %h: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %s = graph.add %h, %x : tensor<f32>
  return %s : tensor<f32>
}
func.func @for_c2_computed_count(%n: tensor<i64>, %h: tensor<f32>, %xs: tensor<4xf32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.for' op with stacks needs a count that is known}}
  %y = graph.for @step count %n consts() carry(%h) over(%xs) : (tensor<i64>, tensor<f32>, tensor<4xf32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func private @step(%i: tensor<i64>, %h: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  return %h, %h : tensor<f32>, tensor<f32>
}
func.func @for_c3_results(%h: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.for' op results must be (tensor<f32>, tensor<3xf32>)}}
  %y, %ys = graph.for @step count 3 consts() carry(%h) over() : (tensor<f32>) -> (tensor<f32>, tensor<4xf32>)
  return %y : tensor<f32>
}

// -----

func.func private @step(%i: tensor<i64>, %h: tensor<f32>) -> tensor<f32> {
  return %h : tensor<f32>
}
func.func @for_c4_negative(%h: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.for' op count must be a number that is not negative or a value, got -2}}
  %y = graph.for @step count -2 consts() carry(%h) over() : (tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func private @step(%i: tensor<i64>, %h: tensor<f32>) -> tensor<f32> {
  return %h : tensor<f32>
}
func.func @for_c4_type(%n: tensor<i32>, %h: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.for' op count must be a tensor<i64>, got tensor<i32>}}
  %y = graph.for @step count %n consts() carry(%h) over() : (tensor<i32>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}
