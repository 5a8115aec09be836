// RUN: lamina-opt %s --split-input-file --verify-diagnostics

/// What a host function says of its arguments holds.

// expected-error@+1 {{'program.func' op segments must count the inputs, results, temporaries, sizes and arenas of 1 arguments, got (0, 99, 0, 0, 0)}}
"program.func"() <{sym_name = "func_c1_results", segments = array<i64: 0, 99, 0, 0, 0>}> ({
^bb0(%x: memref<4xf32>):
}) : () -> ()

// -----

// expected-error@+1 {{segments must count the inputs, results, temporaries, sizes and arenas of 1 arguments, got (2, -1, 0, 0, 0)}}
"program.func"() <{sym_name = "func_c1_negative", segments = array<i64: 2, -1, 0, 0, 0>}> ({
^bb0(%x: memref<4xf32>):
}) : () -> ()

// -----

// expected-error@+1 {{segments must count the inputs, results, temporaries, sizes and arenas of 2 arguments, got (0, 0, 0, 0, 2)}}
"program.func"() <{sym_name = "func_c1_arenas", segments = array<i64: 0, 0, 0, 0, 2>}> ({
^bb0(%x: memref<4xi8>, %y: memref<4xi8>):
}) : () -> ()

// -----

// expected-error@+1 {{segments must count the inputs, results, temporaries, sizes and arenas of 1 arguments, got (1,)}}
"program.func"() <{sym_name = "func_c1_length", segments = array<i64: 1>}> ({
^bb0(%x: memref<4xf32>):
}) : () -> ()

// -----

// expected-error@+1 {{'program.func' op argument must be a memref, or an index among its sizes, got index}}
program.func @func_c2_size(%x: index) -> () {
}

// -----

// expected-error@+1 {{'program.func' op arena must have a static shape, got memref<?xi8>}}
program.func @func_c2_arena() -> () arena(%arena: memref<?xi8>) {
}

// -----

// expected-error@+1 {{'program.func' op shapes must give the sizes of memref<?xf32> as numbers and sizes, got none}}
program.func @func_c6_none(%x: memref<?xf32>) -> () {
}

// -----

// expected-error@+1 {{'program.func' op shapes must give the sizes of memref<?xf32> as numbers and sizes, got (d0 + 1)}}
program.func @func_c6_sum(%x: memref<?xf32>) -> () sizes(%N: index) shapes(%x[%N + 1]) {
}

// -----

// expected-error@+1 {{'program.func' op shapes must give the sizes of memref<?x4xf32> as numbers and sizes, got d0, 5}}
program.func @func_c6_number(%x: memref<?x4xf32>) -> () sizes(%N: index) shapes(%x[%N, 5]) {
}

// -----

// expected-error@+1 {{'program.func' op size %N is that of no input}}
program.func @func_c6_result() -> (%y: memref<?xf32>) sizes(%N: index) shapes(%y[%N]) {
}

// -----

// expected-error@+1 {{'program.func' op argument of symbolic size must be contiguous, got memref<?xf32, strided<[2]>>}}
program.func @func_c6_strided(%x: memref<?xf32, strided<[2]>>) -> () sizes(%N: index) shapes(%x[%N]) {
}

// -----

// expected-error@+1 {{'program.func' op argument must be a memref, or an index among its sizes, got f32}}
program.func @func_c2_scalar(%x: f32) -> () {
}

// -----

// expected-error@+1 {{'program.func' op arena must be a memref of i8 of one dim, got memref<4xf32>}}
program.func @func_c3_element() -> () arena(%arena: memref<4xf32>) {
}

// -----

// expected-error@+1 {{'program.func' op arena must be a memref of i8 of one dim, got memref<i8>}}
program.func @func_c3_rank() -> () arena(%arena: memref<i8>) {
}

// -----

// expected-error@+1 {{'program.func' op donated must be numbers of inputs in order, got array<i64: 1>}}
"program.func"() <{sym_name = "func_c4_donated", segments = array<i64: 1, 1, 0, 0, 0>, donated = array<i64: 1>}> ({
^bb0(%x: memref<4xf32>, %y: memref<4xf32>):
}) : () -> ()

// -----

// expected-error@+1 {{'program.func' op donations must pair results in order with inputs, each once, got array<i64: 0, 7>}}
"program.func"() <{sym_name = "func_c4_donations", segments = array<i64: 1, 1, 0, 0, 0>, donations = array<i64: 0, 7>}> ({
^bb0(%x: memref<4xf32>, %y: memref<4xf32>):
}) : () -> ()

// -----

// expected-error@+1 {{'program.func' op donations must pair results in order with inputs, each once, got array<i64: 0, 0, 1, 0>}}
program.func @func_c4_twice(%x: memref<4xf32>) -> (%y: memref<4xf32> over %x, %z: memref<4xf32> over %x) {
}

// -----

// expected-error@+1 {{'program.func' op writes a result of type memref<4xf32> over an input of type memref<8xf32>}}
program.func @func_c4_types(%x: memref<8xf32>) -> (%y: memref<4xf32> over %x) {
}

// -----

// expected-error@+1 {{'program.func' op result must be written over an input}}
program.func @func_c4_name(%x: memref<4xf32>) -> (%y: memref<4xf32>, %z: memref<4xf32> over %y) {
}

// -----

// expected-error@+1 {{'program.func' op work must be a number of at least 0, got -1}}
program.func @func_c5_work() -> () work -1 {
}

// -----

// expected-error@+1 {{'program.func' op donated must be numbers of inputs in order, got array<i64: 0, 0>}}
"program.func"() <{sym_name = "func_c4_donated_twice", segments = array<i64: 1, 0, 0, 0, 0>, donated = array<i64: 0, 0>}> ({
^bb0(%x: memref<4xf32>):
}) : () -> ()

// -----

// expected-error@+1 {{'program.func' op donations must pair results in order with inputs, each once, got array<i64: 0>}}
"program.func"() <{sym_name = "func_c4_half", segments = array<i64: 1, 1, 0, 0, 0>, donations = array<i64: 0>}> ({
^bb0(%x: memref<4xf32>, %y: memref<4xf32>):
}) : () -> ()

// -----

// expected-error@+1 {{'program.func' op Expected attribute "private" but got "nested"}}
"program.func"() <{sym_name = "visible", sym_visibility = "nested", segments = array<i64: 0, 0, 0, 0, 0>}> ({
^bb0:
}) : () -> ()

// -----

program.func private @step(%x: memref<4xf32>) -> (%y: memref<4xf32>) {
  "memref.copy"(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
}
program.func @branch_no_function(%k: memref<i64>, %x: memref<4xf32>) -> (%y: memref<4xf32>) {
  // expected-error@+1 {{'loop.branch' op names @missing, which is no program.func of this module}}
  loop.branch %k [@step, @missing] read(%x) into(%y) : (memref<i64>, memref<4xf32>, memref<4xf32>)
}

// -----

program.func private @step(%x: memref<4xf32>) -> (%y: memref<4xf32>) {
  "memref.copy"(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
}
program.func @branch_types(%k: memref<i64>, %x: memref<5xf32>) -> (%y: memref<4xf32>) {
  // expected-error@+1 {{'loop.branch' op gives (memref<5xf32>, memref<4xf32>) to @step, which takes (memref<4xf32>, memref<4xf32>)}}
  loop.branch %k [@step] read(%x) into(%y) : (memref<i64>, memref<5xf32>, memref<4xf32>)
}

// -----

program.func private @step(%x: memref<4xf32>) -> (%y: memref<4xf32>) arena(%a: memref<256xi8>) {
  "memref.copy"(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
}
program.func @branch_memory(%k: memref<i64>, %x: memref<4xf32>) -> (%y: memref<4xf32>) arena(%a: memref<128xi8>) {
  // expected-error@+1 {{'loop.branch' op gives 128 bytes of memory to @step, which needs 256}}
  loop.branch %k [@step] read(%x) into(%y) arena(%a) : (memref<i64>, memref<4xf32>, memref<4xf32>, memref<128xi8>)
}

// -----

program.func private @step(%x: memref<4xf32>) -> (%y: memref<4xf32>) {
  "memref.copy"(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
}
program.func private @going(%x: memref<4xf32>) -> (%c: memref<i1>) {
}
program.func @while_in_one_buffer(%c: memref<i1>, %x: memref<4xf32>) -> () {
  // expected-error@+1 {{'loop.repeat_while' op carries value 0 in one buffer, but @step does not write it over what it was}}
  loop.repeat_while @going do @step flag(%c) consts() carry(%x) spare(%x) : (memref<i1>, memref<4xf32>, memref<4xf32>)
}

// -----

program.func @while_c1_spare(%c: memref<i1>, %x: memref<4xf32>, %y: memref<5xf32>) -> () {
  // expected-error@+1 {{'loop.repeat_while' op needs a spare buffer of the same type for every carried value}}
  loop.repeat_while @going do @step flag(%c) consts() carry(%x) spare(%y) : (memref<i1>, memref<4xf32>, memref<5xf32>)
}

// -----

program.func @while_c2_flag(%c: memref<i8>, %x: memref<4xf32>, %y: memref<4xf32>) -> () {
  // expected-error@+1 {{'loop.repeat_while' op flag must be a memref<i1>, got memref<i8>}}
  loop.repeat_while @going do @step flag(%c) consts() carry(%x) spare(%y) : (memref<i8>, memref<4xf32>, memref<4xf32>)
}

// -----

program.func @branch_c1_count(%k: memref<i1>, %x: memref<4xf32>) -> () {
  // expected-error@+1 {{'loop.branch' op needs a function, and two for a memref<i1>, got 1}}
  loop.branch %k [@step] read(%x) into() : (memref<i1>, memref<4xf32>)
}

// -----

program.func @branch_c2_index(%k: memref<i32>, %x: memref<4xf32>) -> () {
  // expected-error@+1 {{'loop.branch' op index must be a memref<i1> or a memref<i64>, got memref<i32>}}
  loop.branch %k [@step] read(%x) into() : (memref<i32>, memref<4xf32>)
}
