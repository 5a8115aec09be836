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
  // expected-error@+1 {{'loop.for' op step must be positive and at most 1099511627776, got 0}}
  loop.for seq %i = 0 to 4 step 0 {
  }
}

// -----

loop.kernel @for_c5_yield(%x: f32) {
  // expected-error@+1 {{'loop.for' op must be given and yield one value for each result, results are (f32), yielded (), inits (f32)}}
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

loop.kernel @for_c7_threads_kind() {
  // expected-error@+1 {{'loop.for' op threads divide one or more parallel loops, got 1 of kind seq}}
  loop.for seq %i = 0 to 8 threads {
  }
}

// -----

loop.kernel @for_c7_no_loops() {
  // expected-error@+1 {{'loop.for' op threads divide one or more parallel loops, got 0 of kind parallel}}
  loop.for parallel %i = 0 to 8 threads(collapse 0) {
  }
}

// -----

loop.kernel @for_c7_inside() {
  loop.for parallel %i = 0 to 8 threads {
    // expected-error@+1 {{'loop.for' op cannot be divided among threads inside of a loop that is, or is outlined}}
    loop.for parallel %j = 0 to 8 threads {
    }
  }
}

// -----

loop.kernel @for_c7_interchange_of_two() {
  // expected-error@+1 {{'loop.for' op interchange is for threads that divide one loop}}
  loop.for parallel %i = 0 to 8 threads(collapse 2, interchange) {
  }
}

// -----

loop.kernel @for_c7_align() {
  // expected-error@+1 {{'loop.for' op align needs interchange}}
  loop.for parallel %i = 0 to 8 threads(align) {
  }
}

// -----

loop.kernel @for_c8_outlined_vector() {
  // expected-error@+1 {{'loop.for' op outlined is for seq and parallel loops without results or threads}}
  loop.for vector %i = 0 to 8 step 8 outlined {
  }
}

// -----

loop.kernel @load_c1_subscripts(%x: memref<4x4xf32>) {
  // expected-error@+1 {{'loop.load' op needs one subscript for each dim of memref<4x4xf32>, got 1}}
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
  // expected-error@+1 {{'loop.alloc' op memory space must be register, stack or scratch, got heap}}
  %a = loop.alloc heap : memref<4xf32>
}

// -----

loop.kernel @reduce_lanes_c2_lanes(%v: memref<6xf32>) {
  %a = loop.load %v[0] : memref<6xf32>, vector<6xf32>
  // expected-error@+1 {{'loop.reduce_lanes' op add takes 1 vector(s) of 2^k lanes, got [6]}}
  %s = loop.reduce_lanes<add> %a : vector<6xf32>
}

// -----

// expected-error@+1 {{'loop.kernel' op argument must be a memref, a scalar or an index, got tensor<4xf32>}}
loop.kernel @kernel_c1_argument(%x: tensor<4xf32>) {
}

// -----

loop.kernel @for_c1_monoid(%x: f32) {
  // expected-error@+1 {{'loop.for' op monoid must be one of add, mul, max, min, and, or, argmax, argmin, got sub}}
  %s = loop.for reduce<sub> %i = 0 to 4 init %x : f32 {
    loop.yield %x : f32
  }
}

// -----

loop.kernel @for_c3_bound(%x: index) {
  // expected-error@+1 {{'loop.for' op upper bound must be expressions over its operands}}
  "loop.for"(%x) <{kind = "seq", lower = affine_map<() -> (0)>, upper = affine_map<() -> (4)>, step = 1 : i64, operandSegmentSizes = array<i32: 0, 1, 0>}> ({
  ^bb0(%i: index):
    "loop.yield"() : () -> ()
  }) : (index) -> ()
}

// -----

loop.kernel @for_c4_body_arguments() {
  // expected-error@+1 {{'loop.for' op body needs 1 arguments, the first an index, got 0}}
  "loop.for"() <{kind = "seq", lower = affine_map<() -> (0)>, upper = affine_map<() -> (4)>, step = 1 : i64, operandSegmentSizes = array<i32: 0, 0, 0>}> ({
    "loop.yield"() : () -> ()
  }) : () -> ()
}

// -----

loop.kernel @if_c1_branches(%c: i1, %x: f32, %y: f64) {
  // expected-error@+1 {{'loop.if' op branches must yield (f32), got (f64)}}
  %v = loop.if %c -> f32 {
    loop.yield %x : f32
  } else {
    loop.yield %y : f64
  }
}

// -----

loop.kernel @load_c2_indices(%x: memref<4xf32>, %i: index) {
  // expected-error@+1 {{'loop.load' op subscripts must be over its 1 indices}}
  %a = "loop.load"(%x, %i) <{map = affine_map<() -> (0)>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (memref<4xf32>, index) -> f32
}

// -----

loop.kernel @load_c5_mask(%x: memref<8xf32>) {
  %m = arith.constant dense<true> : vector<4xi1>
  // expected-error@+1 {{'loop.load' op mask must be vector<8xi1>, got vector<4xi1>}}
  %a = "loop.load"(%x, %m) <{map = affine_map<() -> (0)>, operandSegmentSizes = array<i32: 1, 0, 1>}> : (memref<8xf32>, vector<4xi1>) -> vector<8xf32>
}

// -----

loop.kernel @alloc_c2_shape() {
  // expected-error@+1 {{'loop.alloc' op needs 1 sizes for memref<?xf32>, got 0}}
  %t = loop.alloc stack : memref<?xf32>
}

// -----

loop.kernel @reduce_lanes_c1_monoid() {
  %v = arith.constant dense<0.0> : vector<8xf32>
  // expected-error@+1 {{'loop.reduce_lanes' op monoid must be one of add, mul, max, min, and, or, argmax, argmin, got sub}}
  %s = loop.reduce_lanes<sub> %v : vector<8xf32>
}

// -----

program.func @repeat_c1_spare(%i: memref<i64>, %h: memref<4xf32>, %t: memref<5xf32>) -> () {
  // expected-error@+1 {{'loop.repeat' op needs a spare buffer of the same type for every carried value}}
  loop.repeat @step count 3 index(%i) consts() carry(%h) spare(%t) over() into() : (memref<i64>, memref<4xf32>, memref<5xf32>)
}

// -----

program.func @repeat_c2_stacks(%i: memref<i64>, %xs: memref<4xf32>) -> () {
  // expected-error@+1 {{'loop.repeat' op stacks need a first dim of the count 3, got memref<4xf32>}}
  loop.repeat @step count 3 index(%i) consts() carry() spare() over(%xs) into() : (memref<i64>, memref<4xf32>)
}

// -----

program.func @repeat_c3_count(%i: memref<i64>, %n: memref<i32>) -> () {
  // expected-error@+1 {{'loop.repeat' op count must be a memref<i64>, got memref<i32>}}
  loop.repeat @step count %n index(%i) consts() carry() spare() over() into() : (memref<i32>, memref<i64>)
}

// -----

// expected-error@+1 {{'loop.kernel' op in_place pairs memref<8xf32> with memref<4xf32>}}
loop.kernel @kernel_c4_types(%x: memref<4xf32>, %y: memref<8xf32>) in_place(%y over %x) {
}

// -----

// expected-error@+1 {{'loop.kernel' op in_place pairs f32 with f32}}
loop.kernel @kernel_c4_scalars(%x: f32, %y: f32) in_place(%y over %x) {
}

// -----

// expected-error@+1 {{'loop.kernel' op in_place must be pairs of numbers of arguments, got array<i64: 0, 3>}}
"loop.kernel"() <{sym_name = "kernel_c4_outside", in_place = array<i64: 0, 3>}> ({
^bb0(%x: memref<4xf32>):
}) : () -> ()

// -----

// expected-error@+1 {{'loop.kernel' op in_place must be pairs of numbers of arguments, got array<i64: 0>}}
"loop.kernel"() <{sym_name = "kernel_c4_half", in_place = array<i64: 0>}> ({
^bb0(%x: memref<4xf32>):
}) : () -> ()

// -----

// expected-error@+1 {{'loop.kernel' op in_place must name arguments}}
loop.kernel @kernel_c4_name(%x: memref<4xf32>) in_place(%x over %z) {
}

// -----

// expected-error@+1 {{'loop.kernel' op checks must not be empty}}
"loop.kernel"() <{sym_name = "kernel_c5_empty", checks = []}> ({
^bb0:
}) : () -> ()

// -----

loop.kernel @nothing(%x: memref<4xf32>) {
}
program.func @launch_c1(%x: memref<4xf32>) -> () {
  // expected-error@+1 {{'loop.launch' op scratch must be a number of at least 0, got -64}}
  loop.launch @nothing(%x) scratch -64 : (memref<4xf32>)
}

// -----

program.func @callback_c1_kind(%x: memref<4xf32>) -> () {
  // expected-error@+1 {{'loop.callback' op must be one of print, assert, callback, and only a callback fills, got tell}}
  loop.callback tell "x" read(%x) into() : (memref<4xf32>)
}

// -----

program.func @callback_c1_fills(%x: memref<4xf32>) -> (%y: memref<4xf32>) {
  // expected-error@+1 {{'loop.callback' op must be one of print, assert, callback, and only a callback fills, got print}}
  loop.callback print "x" read(%x) into(%y) : (memref<4xf32>, memref<4xf32>)
}

// -----

program.func @callback_c2_batch(%x: memref<4xf32>) -> (%y: memref<5xf32>) {
  // expected-error@+1 {{'loop.callback' op needs buffers that begin with the 1 dims of one batch}}
  loop.callback callback "f" read(%x) into(%y) batch 1 : (memref<4xf32>, memref<5xf32>)
}

// -----

program.func @callback_c2_condition(%x: memref<4xf32>) -> () {
  // expected-error@+1 {{'loop.callback' op assert needs a condition}}
  loop.callback assert "no" read(%x) into() : (memref<4xf32>)
}

// -----

program.func private @step(%i: memref<i64>, %x: memref<?xf32>) -> (%y: memref<?xf32>) sizes(%n: index) shapes(%x[%n], %y[%n]) {
  "memref.copy"(%x, %y) : (memref<?xf32>, memref<?xf32>) -> ()
}
program.func @repeat_c4_sizes(%x: memref<?xf32>, %z: memref<?xf32>) -> (%y: memref<?xf32>) sizes(%n: index, %m: index)
    shapes(%x[%n], %z[%m], %y[%n]) {
  %i = memref.alloc() : memref<i64>
  // expected-error@+1 {{'loop.repeat' op gives sizes (m) to @step, which takes (n)}}
  loop.repeat @step count 3 index(%i) consts() carry(%y) spare(%x) over() into() temporaries() sizes(%m) counts [0, 1] : (memref<i64>, memref<?xf32>, memref<?xf32>, index)
}

// -----

program.func private @step(%i: memref<i64>, %x: memref<?xf32>) -> (%y: memref<?xf32>) sizes(%n: index) shapes(%x[%n], %y[%n]) {
  "memref.copy"(%x, %y) : (memref<?xf32>, memref<?xf32>) -> ()
}
program.func @repeat_c4_buffers(%x: memref<?xf32>, %z: memref<?xf32>) -> (%y: memref<?xf32>) sizes(%n: index, %m: index)
    shapes(%x[%n], %z[%m], %y[%n]) {
  %i = memref.alloc() : memref<i64>
  // expected-error@+1 {{'loop.repeat' op gives @step a buffer of other sizes for argument #1}}
  loop.repeat @step count 3 index(%i) consts() carry(%z) spare(%z) over() into() temporaries() sizes(%n) counts [0, 1] : (memref<i64>, memref<?xf32>, memref<?xf32>, index)
}

// -----

loop.kernel @for_c7_dynamic(%x: memref<4xf32>) {
  // expected-error@+1 {{'loop.for' op dynamic is for parallel loops that are not interchanged, got seq}}
  loop.for seq %i = 0 to 4 dynamic {
  }
}
