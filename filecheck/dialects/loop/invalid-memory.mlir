// RUN: lamina-opt %s --split-input-file --verify-diagnostics

/// What is launched and viewed stays inside the memory that there is.

loop.kernel @scale(%x: memref<1000000xf32>) {
}
program.func @launch_type(%x: memref<4xf32>) -> () {
  // expected-error@+1 {{'loop.launch' op passes memref<4xf32> for argument #0 of @scale, which takes memref<1000000xf32> of sizes [1000000]}}
  loop.launch @scale(%x) : (memref<4xf32>)
}

// -----

loop.kernel @rows(%x: memref<?xf32>, %N: index) shapes(%x[%N]) {
}
program.func @launch_sizes(%x: memref<4xf32>) -> () {
  %four = arith.constant 4 : index
  %five = arith.constant 5 : index
  loop.launch @rows(%x, %four) : (memref<4xf32>, index)
  // expected-error@+1 {{'loop.launch' op passes memref<4xf32> for argument #0 of @rows, which takes memref<?xf32> of sizes [5]}}
  loop.launch @rows(%x, %five) : (memref<4xf32>, index)
}

// -----

program.func @launch_of_nothing(%x: memref<4xf32>) -> () {
  // expected-error@+1 {{names @nothing, which is no loop.kernel of this module}}
  loop.launch @nothing(%x) : (memref<4xf32>)
}

// -----

loop.kernel @two(%x: memref<4xf32>, %y: memref<4xf32>) {
}
program.func @launch_count(%x: memref<4xf32>) -> () {
  // expected-error@+1 {{passes 1 values to @two, which takes 2}}
  loop.launch @two(%x) : (memref<4xf32>)
}

// -----

loop.kernel @copy(%x: memref<4xf32>, %y: memref<4xf32>) {
  loop.for parallel %i = 0 to 4 {
    %a = loop.load %x[%i] : memref<4xf32>
    loop.store %a, %y[%i] : memref<4xf32>
  }
}
program.func @launch_alias(%x: memref<4xf32>) -> () arena(%arena: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %a = memref.view %arena[%c0][] : memref<64xi8> to memref<4xf32>
  %b = memref.view %arena[%c8][] : memref<64xi8> to memref<4xf32>
  %c = memref.view %arena[%c16][] : memref<64xi8> to memref<4xf32>
  loop.launch @copy(%a, %c) : (memref<4xf32>, memref<4xf32>)
  // expected-error@+1 {{passes memory for argument #1 of @copy, which is written, that argument #0 overlaps}}
  loop.launch @copy(%a, %b) : (memref<4xf32>, memref<4xf32>)
}

// -----

program.func @view_outside() -> () arena(%arena: memref<64xi8>) {
  %c52 = arith.constant 52 : index
  // expected-error@+1 {{'memref.view' op of 16 bytes at byte 52 is not inside memref<64xi8>}}
  %a = memref.view %arena[%c52][] : memref<64xi8> to memref<4xf32>
}

// -----

program.func @view_unaligned() -> () arena(%arena: memref<64xi8>) {
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{'memref.view' op at byte 2 is not aligned to the elements of memref<4xf32>}}
  %a = memref.view %arena[%c2][] : memref<64xi8> to memref<4xf32>
}

// -----

func.func @view_at(%arena: memref<64xi8>, %k: index) {
  // expected-error@+1 {{'memref.view' op needs a byte shift that is an arith.constant}}
  %a = memref.view %arena[%k][] : memref<64xi8> to memref<4xf32>
  return
}

// -----

program.func @reinterpret(%x: memref<4xf32>) -> () {
  %fine = memref.reinterpret_cast %x to offset: [0], sizes: [2, 2], strides: [2, 1] : memref<4xf32> to memref<2x2xf32>
  // expected-error@+1 {{'memref.reinterpret_cast' op reaches element 1003 of 4 of memref<4xf32>}}
  %a = memref.reinterpret_cast %x to offset: [1000], sizes: [4], strides: [1] : memref<4xf32> to memref<4xf32, strided<[1], offset: 1000>>
}

// -----

program.func @subview(%x: memref<8xf32>) -> () {
    // expected-error@+1 {{slice along dimension 0 runs out-of-bounds: 10 >= 8}}
  %a = memref.subview %x[4] [4] [2] : memref<8xf32> to memref<4xf32, strided<[2], offset: 4>>
}

// -----

func.func @cast(%x: memref<?xf32>) {
  // expected-error@+1 {{cannot know that memref<?xf32> is memref<9xf32>}}
  %a = "memref.cast"(%x) : (memref<?xf32>) -> memref<9xf32>
  return
}

// -----

// expected-error@+1 {{attribute lamina.phase must be one of graph, optimized, loop, scheduled, program, got "asm"}}
builtin.module attributes {lamina.phase = "asm"} {
}

// -----

builtin.module attributes {lamina.phase = "program"} {
  // expected-error@+1 {{'program.func' op needs an arena in a module of phase program}}
  program.func @no_arena(%x: memref<4xf32>) -> () {
  }
}

// -----

// expected-error@+1 {{attribute lamina.donated of argument #0 must have no value}}
func.func @donated(%x: tensor<4xf32> {lamina.donated = 3 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

loop.kernel @lanes(%x: f32) {
  %y = vector.broadcast %x : f32 to vector<4xf32>
  // expected-error@+1 {{position 9 is outside of vector<4xf32>}}
  %a = vector.extract %y[9] : f32 from vector<4xf32>
}

// -----

loop.kernel @wide() {
  // expected-error@+1 {{makes vector<2147483648xf32>, vectors have at most 4096 lanes}}
  %a = "test.op"() : () -> vector<2147483648xf32>
}

// -----

loop.kernel @exp(%w: memref<4xf32>, %out: memref<4xf32>) {
  loop.for parallel %i = 0 to 4 {
    %a = loop.load %w[%i] : memref<4xf32>
    %b = math.exp %a : f32
    loop.store %b, %out[%i] : memref<4xf32>
  }
}
program.func @launch_same_alloc(%x: memref<4xf32>) -> () {
  %y = memref.alloc() : memref<4xf32>
  // expected-error@+1 {{passes memory for argument #1 of @exp, which is written, that argument #0 overlaps}}
  loop.launch @exp(%y, %y) : (memref<4xf32>, memref<4xf32>)
}

// -----

"memref.global"() <{sym_name = "c", type = memref<4xf32>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
loop.kernel @fill(%out: memref<4xf32>) {
  loop.for parallel %i = 0 to 4 {
    %one = arith.constant 1.0 : f32
    loop.store %one, %out[%i] : memref<4xf32>
  }
}
program.func @launch_on_constant(%x: memref<4xf32>) -> () {
  %c = memref.get_global @c : memref<4xf32>
  // expected-error@+1 {{passes a constant for argument #0 of @fill, which is written}}
  loop.launch @fill(%c) : (memref<4xf32>)
  // expected-error@+1 {{copies to a constant}}
  "memref.copy"(%x, %c) : (memref<4xf32>, memref<4xf32>) -> ()
}
