// RUN: lamina-opt %s --verify-diagnostics --split-input-file

loop.kernel @for_c1_kind() {
  // expected-error@+1 {{'loop.for' op kind must be one of seq, parallel, vector, unroll, reduce (reduce with its monoid), got sideways}}
  "loop.for"() <{lower = affine_map<() -> (0)>, upper = affine_map<() -> (4)>, step = 1 : i64, kind = "sideways", operandSegmentSizes = array<i32: 0, 0, 0>}> ({
  ^bb0(%i: index):
    loop.yield
  }) : () -> ()
}

// -----

loop.kernel @for_c2_step() {
  // expected-error@+1 {{'loop.for' op step must be positive, got 0}}
  loop.for seq %i = 0 to 4 step 0 {
  }
}

// -----

loop.kernel @for_c5_yield(%x: f32) {
  // expected-error@+1 {{'loop.for' op must yield and be given one value a result, results are (f32), yielded (), inits (f32)}}
  %s = loop.for reduce<add> %i = 0 to 4 init %x : f32 {
  }
}

// -----

loop.kernel @for_c6_parallel_carries(%x: f32) {
  // expected-error@+1 {{'loop.for' op of kind parallel cannot carry values}}
  %s = loop.for parallel %i = 0 to 4 carry %a = %x : f32 {
    loop.yield %a : f32
  }
}

// -----

loop.kernel @load_c1_subscripts(%x: memref<4x4xf32>) {
  // expected-error@+1 {{'loop.load' op needs one subscript a dim of memref<4x4xf32>, got 1}}
  %a = loop.load %x[0] : memref<4x4xf32>
}

// -----

loop.kernel @store_c3_element_type(%x: memref<4xf32>, %v: f64) {
  // expected-error@+1 {{'loop.store' op accesses f64 in memref<4xf32>: element types differ}}
  "loop.store"(%v, %x) <{map = affine_map<() -> (0)>, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (f64, memref<4xf32>) -> ()
}

// -----

loop.kernel @load_c4_along(%x: memref<4xf32>) {
  // expected-error@+1 {{'loop.load' op lanes must move along a dim of memref<4xf32>, got 2}}
  %a = loop.load %x[0] along 2 : memref<4xf32>, vector<4xf32>
}

// -----

loop.kernel @alloc_c1_place() {
  // expected-error@+1 {{'loop.alloc' op place must be register, stack or scratch, got heap}}
  %a = loop.alloc heap : memref<4xf32>
}

// -----

loop.kernel @reduce_lanes_c2_lanes(%v: memref<6xf32>) {
  %a = loop.load %v[0] : memref<6xf32>, vector<6xf32>
  // expected-error@+1 {{'loop.reduce_lanes' op add takes 1 vector(s) of 2^k lanes, got [6]}}
  %s = loop.reduce_lanes<add> %a : vector<6xf32>
}
