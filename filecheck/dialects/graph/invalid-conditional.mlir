// RUN: lamina-opt %s --verify-diagnostics --split-input-file

/// One case for every constraint of graph.while and graph.case.

func.func private @going(%h: tensor<f32>) -> tensor<i1> {
  %z = graph.const dense<0.0> : tensor<f32>
  %c = graph.cmp gt %h, %z : tensor<f32>
  return %c : tensor<i1>
}
func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  %a = graph.const dense<0.5> : tensor<f32>
  %y = graph.mul %h, %a : tensor<f32>
  return %y : tensor<f32>
}
func.func @while_c1_no_function(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.while' op names no function of the module: @missing}}
  %y = graph.while @missing do @half consts() carry(%x) : (tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func private @going(%h: tensor<f32>) -> tensor<i1> {
  %z = graph.const dense<0.0> : tensor<f32>
  %c = graph.cmp gt %h, %z : tensor<f32>
  return %c : tensor<i1>
}
func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  %a = graph.const dense<0.5> : tensor<f32>
  %y = graph.mul %h, %a : tensor<f32>
  return %y : tensor<f32>
}
func.func @while_c1_condition(%x: tensor<f64>) -> tensor<f64> {
  // expected-error@+1 {{'graph.while' op condition @going must take (tensor<f64>), it takes (tensor<f32>)}}
  %y = graph.while @going do @half consts() carry(%x) : (tensor<f64>) -> (tensor<f64>)
  return %y : tensor<f64>
}

// -----

func.func private @going(%h: tensor<f64>) -> tensor<i1> {
  %z = graph.const dense<0.0> : tensor<f64>
  %c = graph.cmp gt %h, %z : tensor<f64>
  return %c : tensor<i1>
}
func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  %a = graph.const dense<0.5> : tensor<f32>
  %y = graph.mul %h, %a : tensor<f32>
  return %y : tensor<f32>
}
func.func @while_c1_body(%x: tensor<f64>) -> tensor<f64> {
  // expected-error@+1 {{'graph.while' op body @half must take (tensor<f64>), it takes (tensor<f32>)}}
  %y = graph.while @going do @half consts() carry(%x) : (tensor<f64>) -> (tensor<f64>)
  return %y : tensor<f64>
}

// -----

func.func private @going(%h: tensor<f32>) -> tensor<i1> {
  %z = graph.const dense<0.0> : tensor<f32>
  %c = graph.cmp gt %h, %z : tensor<f32>
  return %c : tensor<i1>
}
func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  %a = graph.const dense<0.5> : tensor<f32>
  %y = graph.mul %h, %a : tensor<f32>
  return %y : tensor<f32>
}
func.func @while_c2_flag(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.while' op condition @half must return (tensor<i1>), it returns (tensor<f32>)}}
  %y = graph.while @half do @half consts() carry(%x) : (tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func private @going(%h: tensor<f32>) -> tensor<i1> {
  %z = graph.const dense<0.0> : tensor<f32>
  %c = graph.cmp gt %h, %z : tensor<f32>
  return %c : tensor<i1>
}
func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  %a = graph.const dense<0.5> : tensor<f32>
  %y = graph.mul %h, %a : tensor<f32>
  return %y : tensor<f32>
}
func.func @while_c3_body(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.while' op body @going must return the carried values (tensor<f32>), it returns (tensor<i1>)}}
  %y = graph.while @going do @going consts() carry(%x) : (tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func private @going(%h: tensor<f32>) -> tensor<i1> {
  %z = graph.const dense<0.0> : tensor<f32>
  %c = graph.cmp gt %h, %z : tensor<f32>
  return %c : tensor<i1>
}
func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  %a = graph.const dense<0.5> : tensor<f32>
  %y = graph.mul %h, %a : tensor<f32>
  return %y : tensor<f32>
}
func.func @while_c3_results(%x: tensor<f32>) -> tensor<f64> {
  // expected-error@+1 {{'graph.while' op results must be (tensor<f32>)}}
  %y = graph.while @going do @half consts() carry(%x) : (tensor<f32>) -> (tensor<f64>)
  return %y : tensor<f64>
}

// -----

func.func private @going(%h: tensor<f32>) -> tensor<i1> {
  %z = graph.const dense<0.0> : tensor<f32>
  %c = graph.cmp gt %h, %z : tensor<f32>
  return %c : tensor<i1>
}
func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  %a = graph.const dense<0.5> : tensor<f32>
  %y = graph.mul %h, %a : tensor<f32>
  return %y : tensor<f32>
}
func.func @case_c1_none(%k: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.case' op needs a branch, and two for a tensor<i1>, got 0}}
  %y = graph.case %k [](%x) : (tensor<i64>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func private @going(%h: tensor<f32>) -> tensor<i1> {
  %z = graph.const dense<0.0> : tensor<f32>
  %c = graph.cmp gt %h, %z : tensor<f32>
  return %c : tensor<i1>
}
func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  %a = graph.const dense<0.5> : tensor<f32>
  %y = graph.mul %h, %a : tensor<f32>
  return %y : tensor<f32>
}
func.func @case_c1_three(%k: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.case' op needs a branch, and two for a tensor<i1>, got 3}}
  %y = graph.case %k [@half, @half, @half](%x) : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func private @going(%h: tensor<f32>) -> tensor<i1> {
  %z = graph.const dense<0.0> : tensor<f32>
  %c = graph.cmp gt %h, %z : tensor<f32>
  return %c : tensor<i1>
}
func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  %a = graph.const dense<0.5> : tensor<f32>
  %y = graph.mul %h, %a : tensor<f32>
  return %y : tensor<f32>
}
func.func @case_c1_no_function(%k: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.case' op names no function of the module: @missing}}
  %y = graph.case %k [@half, @missing](%x) : (tensor<i64>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func private @going(%h: tensor<f32>) -> tensor<i1> {
  %z = graph.const dense<0.0> : tensor<f32>
  %c = graph.cmp gt %h, %z : tensor<f32>
  return %c : tensor<i1>
}
func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  %a = graph.const dense<0.5> : tensor<f32>
  %y = graph.mul %h, %a : tensor<f32>
  return %y : tensor<f32>
}
func.func @case_c1_arguments(%k: tensor<i64>, %x: tensor<f64>) -> tensor<f64> {
  // expected-error@+1 {{'graph.case' op branch @half must take (tensor<f64>), it takes (tensor<f32>)}}
  %y = graph.case %k [@half](%x) : (tensor<i64>, tensor<f64>) -> (tensor<f64>)
  return %y : tensor<f64>
}

// -----

func.func private @going(%h: tensor<f32>) -> tensor<i1> {
  %z = graph.const dense<0.0> : tensor<f32>
  %c = graph.cmp gt %h, %z : tensor<f32>
  return %c : tensor<i1>
}
func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  %a = graph.const dense<0.5> : tensor<f32>
  %y = graph.mul %h, %a : tensor<f32>
  return %y : tensor<f32>
}
func.func @case_c2_results(%k: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.case' op branch @going must return (tensor<f32>), it returns (tensor<i1>)}}
  %y = graph.case %k [@half, @going](%x) : (tensor<i64>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func private @going(%h: tensor<f32>) -> tensor<i1> {
  %z = graph.const dense<0.0> : tensor<f32>
  %c = graph.cmp gt %h, %z : tensor<f32>
  return %c : tensor<i1>
}
func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  %a = graph.const dense<0.5> : tensor<f32>
  %y = graph.mul %h, %a : tensor<f32>
  return %y : tensor<f32>
}
func.func @case_c3_index(%k: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.case' op index must be a tensor<i1> or a tensor<i64>, got tensor<i32>}}
  %y = graph.case %k [@half](%x) : (tensor<i32>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func @call_c1_no_function(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.call' op names no function of the module: @missing}}
  %y = graph.call @missing(%x) : (tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  return %h : tensor<f32>
}
func.func @call_c1_arguments(%x: tensor<f64>) -> tensor<f32> {
  // expected-error@+1 {{'graph.call' op function @half must take (tensor<f64>), it takes (tensor<f32>)}}
  %y = graph.call @half(%x) : (tensor<f64>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// -----

func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  return %h : tensor<f32>
}
func.func @call_c2_results(%x: tensor<f32>) -> tensor<f64> {
  // expected-error@+1 {{'graph.call' op function @half must return (tensor<f64>), it returns (tensor<f32>)}}
  %y = graph.call @half(%x) : (tensor<f32>) -> (tensor<f64>)
  return %y : tensor<f64>
}

// -----

func.func private @half(%h: tensor<f32>) -> tensor<f32> {
  return %h : tensor<f32>
}
func.func @call_linear(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'graph.call' op linear must be below 1, got (1,)}}
  %y = graph.call @half(%x) linear [1] : (tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}
