// RUN: lamina-opt %s --verify-diagnostics --split-input-file

/// One case for every constraint of every graph op; the name says which: @<op>_<label>_<what is wrong>.

func.func @fusion_c1_arguments(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.fusion' op region arguments must have the operand types, or their elements under another shape, got (tensor<3xf32>) for (tensor<4xf32>)}}
  %r = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<3xf32>):
    "graph.yield"(%a) : (tensor<3xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @fusion_c2_results(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.fusion' op yielded types must be the result types, or hold their elements under another shape, got (tensor<4xf32>) for (tensor<3xf32>)}}
  %r = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    "graph.yield"(%a) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @fusion_c1_other_element(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.fusion' op region arguments must have the operand types, or their elements under another shape, got (tensor<2x2xi32>) for (tensor<4xf32>)}}
  %r = graph.fusion (%a = %x : tensor<4xf32> as tensor<2x2xi32>) -> tensor<2x2xi32> {
    graph.yield %a : tensor<2x2xi32>
  }
  return
}

// -----

func.func @fusion_c1_open_size(%x: tensor<?xf32>) {
  // expected-error@+1 {{or their elements under another shape, got (tensor<1x?xf32>) for (tensor<?xf32>)}}
  %r = graph.fusion (%a = %x : tensor<?xf32> as tensor<1x?xf32>) -> tensor<1x?xf32> {
    graph.yield %a : tensor<1x?xf32>
  }
  return
}

// -----

func.func @fusion_c2_number_of_elements(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.fusion' op yielded types must be the result types, or hold their elements under another shape, got (tensor<4xf32>) for (tensor<2x3xf32>)}}
  %r = graph.fusion (%a = %x : tensor<4xf32>) -> tensor<2x3xf32> {
    graph.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_c3_no_permutation(%x: tensor<4x2xf32>) {
  // expected-error@+1 {{'graph.fusion' op order must be a permutation of the 2 dims that are yielded, got [0, 0]}}
  %r = graph.fusion (%a = %x : tensor<4x2xf32>) -> tensor<4x2xf32> order [0, 0] {
    %n = graph.neg %a : tensor<4x2xf32>
    graph.yield %n : tensor<4x2xf32>
  }
  return
}

// -----

func.func @fusion_c3_rank(%x: tensor<4x2xf32>) {
  // expected-error@+1 {{'graph.fusion' op order must be a permutation of the 1 dims that are yielded, got [1, 0]}}
  %r = graph.fusion (%a = %x : tensor<4x2xf32> as tensor<8xf32>) -> tensor<4x2xf32> order [1, 0] {
    %n = graph.neg %a : tensor<8xf32>
    graph.yield %n : tensor<8xf32>
  }
  return
}

// -----

func.func @fusion_c3_no_number(%x: tensor<4x2xf32>) {
  // expected-error@+1 {{expected integer literal}}
  %r = graph.fusion (%a = %x : tensor<4x2xf32>) -> tensor<4x2xf32> order [i, j] {
  }
  return
}

// -----

func.func @fusion_c4_too_few(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.fusion' op must yield 1 results and 1 prologues, got 1 values}}
  %r = graph.fusion (%a = %x : tensor<4xf32>) -> tensor<4xf32> prologues 1 {
    %n = graph.neg %a : tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_c4_too_many(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.fusion' op must yield 1 results and 0 prologues, got 2 values}}
  %r = graph.fusion (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %n = graph.neg %a : tensor<4xf32>
    %e = graph.exp %n : tensor<4xf32>
    graph.yield %e, %n : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_c4_none(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.fusion' op must yield 1 results and 0 prologues, got 1 values}}
  %r = graph.fusion (%a = %x : tensor<4xf32>) -> tensor<4xf32> prologues 0 {
    %n = graph.neg %a : tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_c4_open_size(%x: tensor<?xf32>) {
  // expected-error@+1 {{'graph.fusion' op prologues must have static shapes, got tensor<?xf32>}}
  %r = graph.fusion (%a = %x : tensor<?xf32>) -> tensor<?xf32> prologues 1 {
    %n = graph.neg %a : tensor<?xf32>
    %e = graph.exp %n : tensor<?xf32>
    graph.yield %e, %n : tensor<?xf32>, tensor<?xf32>
  }
  return
}

// -----

func.func @fusion_c4_no_number(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected integer literal}}
  %r = graph.fusion (%a = %x : tensor<4xf32>) -> tensor<4xf32> prologues [0] {
  }
  return
}

// -----

func.func @fusion_c5_nest(%x: tensor<8xf32>) {
  // expected-error@+1 {{'graph.fusion' op has no order and no prologues: 'graph.reduce_window' op has loops of its own}}
  %r = graph.fusion (%a = %x : tensor<8xf32>) -> tensor<6xf32> prologues 1 {
    %e = graph.exp %a : tensor<8xf32>
    %w = graph.reduce_window add %e window [3] stride [1] low [0] high [0] dilation [1] : tensor<8xf32> -> tensor<6xf32>
    graph.yield %w, %e : tensor<6xf32>, tensor<8xf32>
  }
  return
}

// -----

func.func @fusion_c5_several_equations(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.fusion' op has no order and no prologues: 'graph.concat' op has loops of its own}}
  %r = graph.fusion (%a = %x : tensor<2x3xf32>) -> tensor<4x3xf32> order [1, 0] {
    %c = graph.concat %a, %a along 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    graph.yield %c : tensor<4x3xf32>
  }
  return
}

// -----

func.func @const_c1_value() {
  // expected-error@+1 {{'graph.const' op value must be a dense tensor attribute, got dense<1.000000e+00> : vector<4xf32>}}
  %r = "graph.const"() <{value = dense<1.0> : vector<4xf32>}> : () -> tensor<4xf32>
  return
}

// -----

func.func @iota_c1_dim() {
  // expected-error@+1 {{'graph.iota' op dim must be within the rank, got 1 for [4]}}
  %r = graph.iota along 1 : tensor<4xi32>
  return
}

// -----

func.func @iota_c2_element_type() {
  // expected-error@+1 {{'graph.iota' op result element type must be an integer or a float, got i1}}
  %r = graph.iota along 0 : tensor<4xi1>
  return
}

// -----

func.func @neg_c1_element_type(%b: tensor<4xi1>) {
  // expected-error@+1 {{'graph.neg' op operand element type must be an integer or a float, got i1}}
  %r = graph.neg %b : tensor<4xi1>
  return
}

// -----

func.func @abs_c1_element_type(%b: tensor<4xi1>) {
  // expected-error@+1 {{'graph.abs' op operand element type must be an integer or a float, got i1}}
  %r = graph.abs %b : tensor<4xi1>
  return
}

// -----

func.func @sign_c1_element_type(%b: tensor<4xi1>) {
  // expected-error@+1 {{'graph.sign' op operand element type must be an integer or a float, got i1}}
  %r = graph.sign %b : tensor<4xi1>
  return
}

// -----

func.func @floor_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.floor' op operand element type must be f32 or f64, got i32}}
  %r = graph.floor %i : tensor<4xi32>
  return
}

// -----

func.func @ceil_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.ceil' op operand element type must be f32 or f64, got i32}}
  %r = graph.ceil %i : tensor<4xi32>
  return
}

// -----

func.func @rint_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.rint' op operand element type must be f32 or f64, got i32}}
  %r = graph.rint %i : tensor<4xi32>
  return
}

// -----

func.func @exp_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.exp' op operand element type must be f32 or f64, got i32}}
  %r = graph.exp %i : tensor<4xi32>
  return
}

// -----

func.func @erfc_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.erfc' op operand element type must be f32 or f64, got i32}}
  %r = graph.erfc %i : tensor<4xi32>
  return
}

// -----

func.func @expm1_slope_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.expm1_slope' op operand element type must be f32 or f64, got i32}}
  %r = graph.expm1_slope %i : tensor<4xi32>
  return
}

// -----

func.func @gauss_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.gauss' op operand element type must be f32 or f64, got i32}}
  %r = graph.gauss %i : tensor<4xi32>
  return
}

// -----

func.func @sech2_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.sech2' op operand element type must be f32 or f64, got i32}}
  %r = graph.sech2 %i : tensor<4xi32>
  return
}

// -----

func.func @expm1_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.expm1' op operand element type must be f32 or f64, got i32}}
  %r = graph.expm1 %i : tensor<4xi32>
  return
}

// -----

func.func @log_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.log' op operand element type must be f32 or f64, got i32}}
  %r = graph.log %i : tensor<4xi32>
  return
}

// -----

func.func @log1p_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.log1p' op operand element type must be f32 or f64, got i32}}
  %r = graph.log1p %i : tensor<4xi32>
  return
}

// -----

func.func @sqrt_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.sqrt' op operand element type must be f32 or f64, got i32}}
  %r = graph.sqrt %i : tensor<4xi32>
  return
}

// -----

func.func @rsqrt_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.rsqrt' op operand element type must be f32 or f64, got i32}}
  %r = graph.rsqrt %i : tensor<4xi32>
  return
}

// -----

func.func @sin_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.sin' op operand element type must be f32 or f64, got i32}}
  %r = graph.sin %i : tensor<4xi32>
  return
}

// -----

func.func @cos_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.cos' op operand element type must be f32 or f64, got i32}}
  %r = graph.cos %i : tensor<4xi32>
  return
}

// -----

func.func @tan_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.tan' op operand element type must be f32 or f64, got i32}}
  %r = graph.tan %i : tensor<4xi32>
  return
}

// -----

func.func @atan_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.atan' op operand element type must be f32 or f64, got i32}}
  %r = graph.atan %i : tensor<4xi32>
  return
}

// -----

func.func @tanh_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.tanh' op operand element type must be f32 or f64, got i32}}
  %r = graph.tanh %i : tensor<4xi32>
  return
}

// -----

func.func @erf_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.erf' op operand element type must be f32 or f64, got i32}}
  %r = graph.erf %i : tensor<4xi32>
  return
}

// -----

func.func @not_c1_element_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.not' op operand element type must be an integer or i1, got f32}}
  %r = graph.not %x : tensor<4xf32>
  return
}

// -----

func.func @add_c1_element_types(%x: tensor<4xf32>, %d: tensor<4xf64>) {
  // expected-error@+1 {{'graph.add' op operand element types must be equal, lhs is f32, rhs is f64}}
  %r = "graph.add"(%x, %d) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @add_c2_shapes(%x: tensor<4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.add' op operand shapes must be equal, lhs is [4], rhs is [3]}}
  %r = "graph.add"(%x, %s) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @add_c3_element_type(%b: tensor<4xi1>) {
  // expected-error@+1 {{'graph.add' op operand element type must be an integer or a float, got i1}}
  %r = graph.add %b, %b : tensor<4xi1>
  return
}

// -----

func.func @sub_c1_element_types(%x: tensor<4xf32>, %d: tensor<4xf64>) {
  // expected-error@+1 {{'graph.sub' op operand element types must be equal, lhs is f32, rhs is f64}}
  %r = "graph.sub"(%x, %d) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @sub_c2_shapes(%x: tensor<4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.sub' op operand shapes must be equal, lhs is [4], rhs is [3]}}
  %r = "graph.sub"(%x, %s) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sub_c3_element_type(%b: tensor<4xi1>) {
  // expected-error@+1 {{'graph.sub' op operand element type must be an integer or a float, got i1}}
  %r = graph.sub %b, %b : tensor<4xi1>
  return
}

// -----

func.func @mul_c1_element_types(%x: tensor<4xf32>, %d: tensor<4xf64>) {
  // expected-error@+1 {{'graph.mul' op operand element types must be equal, lhs is f32, rhs is f64}}
  %r = "graph.mul"(%x, %d) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @mul_c2_shapes(%x: tensor<4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.mul' op operand shapes must be equal, lhs is [4], rhs is [3]}}
  %r = "graph.mul"(%x, %s) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @mul_c3_element_type(%b: tensor<4xi1>) {
  // expected-error@+1 {{'graph.mul' op operand element type must be an integer or a float, got i1}}
  %r = graph.mul %b, %b : tensor<4xi1>
  return
}

// -----

func.func @div_c1_element_types(%x: tensor<4xf32>, %d: tensor<4xf64>) {
  // expected-error@+1 {{'graph.div' op operand element types must be equal, lhs is f32, rhs is f64}}
  %r = "graph.div"(%x, %d) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @div_c2_shapes(%x: tensor<4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.div' op operand shapes must be equal, lhs is [4], rhs is [3]}}
  %r = "graph.div"(%x, %s) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @div_c3_element_type(%b: tensor<4xi1>) {
  // expected-error@+1 {{'graph.div' op operand element type must be an integer or a float, got i1}}
  %r = graph.div %b, %b : tensor<4xi1>
  return
}

// -----

func.func @rem_c1_element_types(%x: tensor<4xf32>, %d: tensor<4xf64>) {
  // expected-error@+1 {{'graph.rem' op operand element types must be equal, lhs is f32, rhs is f64}}
  %r = "graph.rem"(%x, %d) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @rem_c2_shapes(%x: tensor<4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.rem' op operand shapes must be equal, lhs is [4], rhs is [3]}}
  %r = "graph.rem"(%x, %s) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @rem_c3_element_type(%b: tensor<4xi1>) {
  // expected-error@+1 {{'graph.rem' op operand element type must be an integer or a float, got i1}}
  %r = graph.rem %b, %b : tensor<4xi1>
  return
}

// -----

func.func @pow_c1_element_types(%x: tensor<4xf32>, %d: tensor<4xf64>) {
  // expected-error@+1 {{'graph.pow' op operand element types must be equal, lhs is f32, rhs is f64}}
  %r = "graph.pow"(%x, %d) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @pow_c2_shapes(%x: tensor<4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.pow' op operand shapes must be equal, lhs is [4], rhs is [3]}}
  %r = "graph.pow"(%x, %s) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pow_c3_element_type(%b: tensor<4xi1>) {
  // expected-error@+1 {{'graph.pow' op operand element type must be an integer or a float, got i1}}
  %r = graph.pow %b, %b : tensor<4xi1>
  return
}

// -----

func.func @atan2_c1_element_types(%x: tensor<4xf32>, %d: tensor<4xf64>) {
  // expected-error@+1 {{'graph.atan2' op operand element types must be equal, lhs is f32, rhs is f64}}
  %r = "graph.atan2"(%x, %d) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @atan2_c2_shapes(%x: tensor<4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.atan2' op operand shapes must be equal, lhs is [4], rhs is [3]}}
  %r = "graph.atan2"(%x, %s) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @atan2_c3_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.atan2' op operand element type must be f32 or f64, got i32}}
  %r = graph.atan2 %i, %i : tensor<4xi32>
  return
}

// -----

func.func @max_c1_element_types(%x: tensor<4xf32>, %d: tensor<4xf64>) {
  // expected-error@+1 {{'graph.max' op operand element types must be equal, lhs is f32, rhs is f64}}
  %r = "graph.max"(%x, %d) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @max_c2_shapes(%x: tensor<4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.max' op operand shapes must be equal, lhs is [4], rhs is [3]}}
  %r = "graph.max"(%x, %s) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @max_c3_element_type(%h: tensor<4xf16>) {
  // expected-error-re@+1 {{'graph.max' op element type must be one of {{.*}}i1, got tensor<4xf16>}}
  %r = "graph.max"(%h, %h) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

func.func @min_c1_element_types(%x: tensor<4xf32>, %d: tensor<4xf64>) {
  // expected-error@+1 {{'graph.min' op operand element types must be equal, lhs is f32, rhs is f64}}
  %r = "graph.min"(%x, %d) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @min_c2_shapes(%x: tensor<4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.min' op operand shapes must be equal, lhs is [4], rhs is [3]}}
  %r = "graph.min"(%x, %s) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @min_c3_element_type(%h: tensor<4xf16>) {
  // expected-error-re@+1 {{'graph.min' op element type must be one of {{.*}}i1, got tensor<4xf16>}}
  %r = "graph.min"(%h, %h) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

func.func @and_c1_element_types(%i: tensor<4xi32>, %l: tensor<4xi64>) {
  // expected-error@+1 {{'graph.and' op operand element types must be equal, lhs is i32, rhs is i64}}
  %r = "graph.and"(%i, %l) : (tensor<4xi32>, tensor<4xi64>) -> tensor<4xi32>
  return
}

// -----

func.func @and_c2_shapes(%i: tensor<4xi32>, %zi: tensor<i32>) {
  // expected-error@+1 {{'graph.and' op operand shapes must be equal, lhs is [4], rhs is []}}
  %r = "graph.and"(%i, %zi) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return
}

// -----

func.func @and_c3_element_type(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'graph.and' op operand element type must be an integer or i1, got f32}}
  %r = graph.and %x, %y : tensor<4xf32>
  return
}

// -----

func.func @or_c1_element_types(%i: tensor<4xi32>, %l: tensor<4xi64>) {
  // expected-error@+1 {{'graph.or' op operand element types must be equal, lhs is i32, rhs is i64}}
  %r = "graph.or"(%i, %l) : (tensor<4xi32>, tensor<4xi64>) -> tensor<4xi32>
  return
}

// -----

func.func @or_c2_shapes(%i: tensor<4xi32>, %zi: tensor<i32>) {
  // expected-error@+1 {{'graph.or' op operand shapes must be equal, lhs is [4], rhs is []}}
  %r = "graph.or"(%i, %zi) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return
}

// -----

func.func @or_c3_element_type(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'graph.or' op operand element type must be an integer or i1, got f32}}
  %r = graph.or %x, %y : tensor<4xf32>
  return
}

// -----

func.func @xor_c1_element_types(%i: tensor<4xi32>, %l: tensor<4xi64>) {
  // expected-error@+1 {{'graph.xor' op operand element types must be equal, lhs is i32, rhs is i64}}
  %r = "graph.xor"(%i, %l) : (tensor<4xi32>, tensor<4xi64>) -> tensor<4xi32>
  return
}

// -----

func.func @xor_c2_shapes(%i: tensor<4xi32>, %zi: tensor<i32>) {
  // expected-error@+1 {{'graph.xor' op operand shapes must be equal, lhs is [4], rhs is []}}
  %r = "graph.xor"(%i, %zi) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return
}

// -----

func.func @xor_c3_element_type(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'graph.xor' op operand element type must be an integer or i1, got f32}}
  %r = graph.xor %x, %y : tensor<4xf32>
  return
}

// -----

func.func @cmp_c1_element_types(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.cmp' op operand element types must be equal, lhs is f32, rhs is i32}}
  %r = "graph.cmp"(%x, %i) <{predicate = "lt"}> : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

func.func @cmp_c2_shapes(%x: tensor<4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.cmp' op operand shapes must be equal, lhs is [4], rhs is [3]}}
  %r = "graph.cmp"(%x, %s) <{predicate = "lt"}> : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @cmp_c3_predicate(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'graph.cmp' op predicate must be one of eq, ne, lt, le, gt, ge, got "near"}}
  %r = graph.cmp near %x, %y : tensor<4xf32>
  return
}

// -----

func.func @select_c1_condition(%i: tensor<4xi32>, %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'graph.select' op condition must be i1, got i32}}
  %r = graph.select %i, %x, %y : (tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_c2_element_types(%b: tensor<4xi1>, %x: tensor<4xf32>, %d: tensor<4xf64>) {
  // expected-error@+1 {{'graph.select' op operand element types must be equal, on_true is f32, on_false is f64}}
  %r = graph.select %b, %x, %d : (tensor<4xi1>, tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @select_c3_shapes(%b: tensor<4xi1>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.select' op operand shapes must be equal, condition is [4], on_true is [3]}}
  %r = graph.select %b, %s, %s : (tensor<4xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @convert_c1_shapes(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.convert' op operand shapes must be equal, operand is [4], result is [3]}}
  %r = graph.convert %x : tensor<4xf32> -> tensor<3xi32>
  return
}

// -----

func.func @convert_c2(%x: tensor<4xf16>) -> tensor<4xi64> {
  // expected-error@+1 {{'graph.convert' op converts f16 from and to f32 and f64, and from integers, got f16 to i64}}
  %r = graph.convert %x : tensor<4xf16> -> tensor<4xi64>
  return %r : tensor<4xi64>
}

// -----

func.func @reshape_c1_element_types(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.reshape' op operand and result element types must be equal, got f32 and i32}}
  %r = graph.reshape %x : tensor<4xf32> -> tensor<4xi32>
  return
}

// -----

func.func @reshape_c2_count(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.reshape' op operand and result must have as many elements, [4] has 4, [5] has 5}}
  %r = graph.reshape %x : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

func.func @transpose_c1_permutation(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.transpose' op perm must be a permutation of the 2 operand dims, got [0, 0]}}
  %r = graph.transpose %m perm [0, 0] : tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @broadcast_c1_dims(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.broadcast' op dims must name one result dim for each operand dim in increasing order, got [0, 1] for [4] and [4,4]}}
  %r = graph.broadcast %x to [0, 1] : tensor<4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @broadcast_c2_sizes(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.broadcast' op operand dim 0 of size 4 cannot become result dim 0 of size 5}}
  %r = graph.broadcast %x to [0] : tensor<4xf32> -> tensor<5x2xf32>
  return
}

// -----

func.func @broadcast_c3_element_types(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.broadcast' op operand and result element types must be equal, got f32 and i32}}
  %r = graph.broadcast %x to [0] : tensor<4xf32> -> tensor<4x2xi32>
  return
}

// -----

func.func @slice_c1_entries(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.slice' op start, stop and step need one entry for each dim of [4]}}
  %r = graph.slice %x start [0, 0] stop [2, 2] step [1, 1] : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @slice_c2_bounds(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.slice' op dim 0 needs 0 <= start <= stop <= 4 and step >= 1, got 2:9:1}}
  %r = graph.slice %x start [2] stop [9] step [1] : tensor<4xf32> -> tensor<7xf32>
  return
}

// -----

func.func @concat_c1_operands() {
  // expected-error@+1 {{'graph.concat' op needs at least one operand}}
  %r = "graph.concat"() <{dim = 0 : i64}> : () -> tensor<4xf32>
  return
}

// -----

func.func @concat_c2_element_types(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.concat' op operand element types must be equal, operand 0 is f32, 1 is i32}}
  %r = graph.concat %x, %i along 0 : (tensor<4xf32>, tensor<4xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @concat_c3_dim(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'graph.concat' op dim must be within the rank, got 1 for [4]}}
  %r = graph.concat %x, %y along 1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @concat_c4_sizes(%m: tensor<2x3xf32>, %x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.concat' op sizes must agree in all dims but 0, operand 0 is [2,3], operand 1 is [4]}}
  %r = graph.concat %m, %x along 0 : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @pad_c1_value(%x: tensor<4xf32>, %zi: tensor<i32>) {
  // expected-error@+1 {{'graph.pad' op fill value must be a tensor<f32>, got tensor<i32>}}
  %r = graph.pad %x, %zi low [1] high [1] interior [0] : (tensor<4xf32>, tensor<i32>) -> tensor<6xf32>
  return
}

// -----

func.func @pad_c2_entries(%x: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{'graph.pad' op low, high and interior need one entry for each dim of [4], interior not negative}}
  %r = graph.pad %x, %z low [1, 1] high [1, 1] interior [0, 0] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @pad_c3_size(%x: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{'graph.pad' op padding -5, 0 leaves a dim of size 4 with size -1}}
  %r = graph.pad %x, %z low [-5] high [0] interior [0] : (tensor<4xf32>, tensor<f32>) -> tensor<0xf32>
  return
}

// -----

func.func @reverse_c1_dims(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.reverse' op reversed dims must be distinct, got [0, 0]}}
  %r = graph.reverse %x dims [0, 0] : tensor<4xf32>
  return
}

// -----

func.func @reduce_c1_kind(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.reduce' op kind must be one of add, mul, max, min, and, or, got mean}}
  %r = graph.reduce mean %m over [1] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce_c2_dims(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.reduce' op reduced dim 2 is out of range for rank 2}}
  %r = graph.reduce add %m over [2] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @reduce_c3_element_type(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.reduce' op cannot reduce f32 by and}}
  %r = graph.reduce and %m over [1] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @argmax_c1_dim(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.argmax' op dim must be within the rank, got 2 for [2,3]}}
  %r = graph.argmax %m along 2 : tensor<2x3xf32> -> tensor<2xi64>
  return
}

// -----

func.func @argmax_c2_empty(%e: tensor<0x3xf32>) {
  // expected-error@+1 {{'graph.argmax' op needs an element along the dim, dim 0 of [0,3] is empty}}
  %r = graph.argmax %e along 0 : tensor<0x3xf32> -> tensor<3xi64>
  return
}

// -----

func.func @argmin_c1_dim(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.argmin' op dim must be within the rank, got 2 for [2,3]}}
  %r = graph.argmin %m along 2 : tensor<2x3xf32> -> tensor<2xi64>
  return
}

// -----

func.func @argmin_c2_empty(%e: tensor<0x3xf32>) {
  // expected-error@+1 {{'graph.argmin' op needs an element along the dim, dim 0 of [0,3] is empty}}
  %r = graph.argmin %e along 0 : tensor<0x3xf32> -> tensor<3xi64>
  return
}

// -----

func.func @dot_c1_element_types(%m: tensor<2x3xf32>, %n: tensor<2x3xi32>) {
  // expected-error@+1 {{'graph.dot' op operand element types must be equal, lhs is f32, rhs is i32}}
  %r = graph.dot %m, %n contract [1] with [1] : (tensor<2x3xf32>, tensor<2x3xi32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dot_c2_counts(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.dot' op needs as many batch and contracting dims on both sides, got batch [] with [], contract [1] with []}}
  %r = "graph.dot"(%m, %m) <{lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2x3xf32>
  return
}

// -----

func.func @dot_c3_dims(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.dot' op lhs batch and contracting dims must be distinct, got [0, 0]}}
  %r = graph.dot %m, %m batch [0] with [0] contract [0] with [0] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x3xf32>
  return
}

// -----

func.func @dot_c4_batch_sizes(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.dot' op batch sizes differ: lhs dim 0 of [2,3] is 2, rhs dim 1 of [2,3] is 3}}
  %r = graph.dot %m, %m batch [0] with [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x2xf32>
  return
}

// -----

func.func @dot_c5_contracting_sizes(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.dot' op contracting sizes differ: lhs dim 1 of [2,3] is 3, rhs dim 0 of [2,3] is 2}}
  %r = graph.dot %m, %m contract [1] with [0] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @relu_c1_element_type(%b: tensor<4xi1>) {
  // expected-error@+1 {{'graph.relu' op operand element type must be an integer or a float, got i1}}
  %r = graph.relu %b : tensor<4xi1>
  return
}

// -----

func.func @sigmoid_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.sigmoid' op operand element type must be f32 or f64, got i32}}
  %r = graph.sigmoid %i : tensor<4xi32>
  return
}

// -----

func.func @sigmoid_slope_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.sigmoid_slope' op operand element type must be f32 or f64, got i32}}
  %r = graph.sigmoid_slope %i : tensor<4xi32>
  return
}

// -----

func.func @gelu_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.gelu' op operand element type must be f32 or f64, got i32}}
  %r = graph.gelu %i approximate none : tensor<4xi32>
  return
}

// -----

func.func @gelu_c2_approximate(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.gelu' op approximate must be none or tanh, got roughly}}
  %r = graph.gelu %x approximate roughly : tensor<4xf32>
  return
}

// -----

func.func @softmax_c1_element_type(%n: tensor<2x3xi32>) {
  // expected-error@+1 {{'graph.softmax' op operand element type must be f32 or f64, got i32}}
  %r = graph.softmax %n over [1] : tensor<2x3xi32>
  return
}

// -----

func.func @softmax_c2_dims(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.softmax' op normalized dims must be distinct, got [1, 1]}}
  %r = graph.softmax %m over [1, 1] : tensor<2x3xf32>
  return
}

// -----

func.func @log_softmax_c1_element_type(%n: tensor<2x3xi32>) {
  // expected-error@+1 {{'graph.log_softmax' op operand element type must be f32 or f64, got i32}}
  %r = graph.log_softmax %n over [1] : tensor<2x3xi32>
  return
}

// -----

func.func @log_softmax_c2_dims(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.log_softmax' op normalized dims must be distinct, got [1, 1]}}
  %r = graph.log_softmax %m over [1, 1] : tensor<2x3xf32>
  return
}

// -----

func.func @logsumexp_c1_element_type(%n: tensor<2x3xi32>) {
  // expected-error@+1 {{'graph.logsumexp' op operand element type must be f32 or f64, got i32}}
  %r = graph.logsumexp %n over [1] : tensor<2x3xi32> -> tensor<2xi32>
  return
}

// -----

func.func @logsumexp_c2_dims(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.logsumexp' op normalized dim 4 is out of range for rank 2}}
  %r = graph.logsumexp %m over [4] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @mean_c1_element_type(%n: tensor<2x3xi32>) {
  // expected-error@+1 {{'graph.mean' op operand element type must be f32 or f64, got i32}}
  %r = graph.mean %n over [1] : tensor<2x3xi32> -> tensor<2xi32>
  return
}

// -----

func.func @mean_c2_dims(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.mean' op normalized dim 4 is out of range for rank 2}}
  %r = graph.mean %m over [4] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @var_c1_element_type(%n: tensor<2x3xi32>) {
  // expected-error@+1 {{'graph.var' op operand element type must be f32 or f64, got i32}}
  %r = graph.var %n over [1] correction 0 : tensor<2x3xi32> -> tensor<2xi32>
  return
}

// -----

func.func @var_c2_dims(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.var' op normalized dim 4 is out of range for rank 2}}
  %r = graph.var %m over [4] correction 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @cross_entropy_c1_element_types(%m: tensor<2x3xf32>, %b: tensor<4xi1>) {
  // expected-error@+1 {{'graph.cross_entropy' op labels must be i32 or i64, got i1}}
  %r = graph.cross_entropy %m, %b : (tensor<2x3xf32>, tensor<4xi1>) -> tensor<f32>
  return
}

// -----

func.func @cross_entropy_c2_rows(%m: tensor<2x3xf32>, %l: tensor<4xi64>) {
  // expected-error@+1 {{'graph.cross_entropy' op needs one label for each row, logits are [2,3], labels [4]}}
  %r = graph.cross_entropy %m, %l : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<f32>
  return
}

// -----

func.func @stop_gradient_c1_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.stop_gradient' op result type must be tensor<4xf32>, got tensor<3xf32>}}
  %r = "graph.stop_gradient"(%x) : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @shl_c1_element_types(%x: tensor<4xi32>, %y: tensor<4xi64>) {
  // expected-error@+1 {{'graph.shl' op operand element types must be equal, lhs is i32, rhs is i64}}
  %r = "graph.shl"(%x, %y) : (tensor<4xi32>, tensor<4xi64>) -> tensor<4xi32>
  return
}

// -----

func.func @shl_c2_shapes(%x: tensor<4xi32>, %y: tensor<5xi32>) {
  // expected-error@+1 {{'graph.shl' op operand shapes must be equal, lhs is [4], rhs is [5]}}
  %r = "graph.shl"(%x, %y) : (tensor<4xi32>, tensor<5xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @shl_c3_element_type(%x: tensor<4xi1>) {
  // expected-error@+1 {{'graph.shl' op operand element type must be an integer, got i1}}
  %r = graph.shl %x, %x : tensor<4xi1>
  return
}

// -----

func.func @shr_c1_element_types(%x: tensor<4xi32>, %y: tensor<4xi64>) {
  // expected-error@+1 {{'graph.shr' op operand element types must be equal, lhs is i32, rhs is i64}}
  %r = "graph.shr"(%x, %y) : (tensor<4xi32>, tensor<4xi64>) -> tensor<4xi32>
  return
}

// -----

func.func @shr_c2_shapes(%x: tensor<4xi32>, %y: tensor<5xi32>) {
  // expected-error@+1 {{'graph.shr' op operand shapes must be equal, lhs is [4], rhs is [5]}}
  %r = "graph.shr"(%x, %y) : (tensor<4xi32>, tensor<5xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @shr_c3_element_type(%x: tensor<4xi1>) {
  // expected-error@+1 {{'graph.shr' op operand element type must be an integer, got i1}}
  %r = graph.shr %x, %x : tensor<4xi1>
  return
}

// -----

func.func @popcount_c1_element_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.popcount' op operand element type must be an integer, got f32}}
  %r = graph.popcount %x : tensor<4xf32>
  return
}

// -----

func.func @clz_c1_element_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.clz' op operand element type must be an integer, got f32}}
  %r = graph.clz %x : tensor<4xf32>
  return
}

// -----

func.func @erf_inv_c1_element_type(%i: tensor<4xi32>) {
  // expected-error@+1 {{'graph.erf_inv' op operand element type must be f32 or f64, got i32}}
  %r = graph.erf_inv %i : tensor<4xi32>
  return
}

// -----

func.func @bitcast_c1_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.bitcast' op operand shapes must be equal, operand is [4], result is [5]}}
  %r = graph.bitcast %x : tensor<4xf32> -> tensor<5xi32>
  return
}

// -----

func.func @bitcast_c2_width(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.bitcast' op element types must have one width, got f32 and i64}}
  %r = graph.bitcast %x : tensor<4xf32> -> tensor<4xi64>
  return
}

// -----

func.func @threefry2x32_c1_element_types(%k: tensor<4xui32>, %x: tensor<4xi32>) {
  // expected-error@+1 {{'graph.threefry2x32' op operand element types must be ui32, x1 is i32}}
  %r = "graph.threefry2x32"(%k, %k, %k, %x) <{word = "first"}> : (tensor<4xui32>, tensor<4xui32>, tensor<4xui32>, tensor<4xi32>) -> tensor<4xui32>
  return
}

// -----

func.func @threefry2x32_c2_shapes(%k: tensor<4xui32>, %x: tensor<5xui32>) {
  // expected-error@+1 {{'graph.threefry2x32' op operand shapes must be equal, key0 is [4], x1 is [5]}}
  %r = "graph.threefry2x32"(%k, %k, %k, %x) <{word = "first"}> : (tensor<4xui32>, tensor<4xui32>, tensor<4xui32>, tensor<5xui32>) -> tensor<4xui32>
  return
}

// -----

func.func @threefry2x32_c3_word(%k: tensor<4xui32>) {
  // expected-error@+1 {{'graph.threefry2x32' op word must be one of first, second, xor, got third}}
  %r = graph.threefry2x32 third %k, %k, %k, %k : tensor<4xui32>
  return
}

// -----

func.func @dim_c1_one_size() {
  // expected-error@+1 {{'graph.dim' op must give one size as a number, got 2 as tensor<i64>}}
  %r = graph.dim ["n", "2 * n"] : tensor<i64>
  return
}

// -----

func.func @sizes_that_are_no_expression(
  // expected-error@+1 {{a size must be made of integers and symbols by +, -, *, floordiv(e, 2) and max(e, 0), as '2 * n where n in 1..8', got 'n / 2'}}
  %x: tensor<?xf32, #graph.sizes<"n / 2">>) {
  return
}
