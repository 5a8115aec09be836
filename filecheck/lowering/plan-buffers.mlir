// RUN: lamina-opt %s -p plan-buffers --split-input-file | filecheck %s
// RUN: lamina-opt %s -p plan-buffers,plan-buffers --split-input-file | filecheck %s

/// Lifetimes decide: `%a` and `%c` never meet and share the first 256 bytes, `%b` meets both.
// CHECK-LABEL: program.func @chain
//  CHECK-SAME:   arena(%arena: memref<512xi8>) peak 512
//   CHECK-DAG:   %[[FIRST:.+]] = arith.constant 0 : index
//   CHECK-DAG:   %[[SECOND:.+]] = arith.constant 256 : index
//       CHECK:   %a = memref.view %arena[%[[FIRST]]][] : memref<512xi8> to memref<64xf32>
//       CHECK:   %b = memref.view %arena[%[[SECOND]]][]
//       CHECK:   %c = memref.view %arena[%[[FIRST]]][]
program.func @chain(%x: memref<64xf32>) -> (%y: memref<64xf32>) {
  %a = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<64xf32>
  "memref.copy"(%x, %a) : (memref<64xf32>, memref<64xf32>) -> ()
  %b = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<64xf32>
  "memref.copy"(%a, %b) : (memref<64xf32>, memref<64xf32>) -> ()
  %c = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<64xf32>
  "memref.copy"(%b, %c) : (memref<64xf32>, memref<64xf32>) -> ()
  "memref.copy"(%c, %y) : (memref<64xf32>, memref<64xf32>) -> ()
}

// -----

/// `%a` dies where `%b` is born, in a kernel that allows it: `%b` takes its memory over, and the kernel keeps the mark.
// CHECK-LABEL: loop.kernel @neg
//  CHECK-SAME:   in_place(%q over %p)
loop.kernel @neg(%p: memref<64xf32>, %q: memref<64xf32>) in_place(%q over %p) {
  loop.for parallel %i = 0 to 64 {
    %v = loop.load %p[%i] : memref<64xf32>
    %w = arith.negf %v : f32
    loop.store %w, %q[%i] : memref<64xf32>
  }
}
// CHECK-LABEL: program.func @in_place
//  CHECK-SAME:   arena(%arena: memref<256xi8>)
program.func @in_place(%x: memref<64xf32>) -> (%y: memref<64xf32>) {
  %a = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<64xf32>
  "memref.copy"(%x, %a) : (memref<64xf32>, memref<64xf32>) -> ()
  %b = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<64xf32>
  loop.launch @neg(%a, %b) : (memref<64xf32>, memref<64xf32>)
  "memref.copy"(%b, %y) : (memref<64xf32>, memref<64xf32>) -> ()
}

// -----

/// Here `%a` is read again later: it keeps its memory, and the mark that nobody used is dropped.
// CHECK-LABEL: loop.kernel @neg
//   CHECK-NOT:   in_place
loop.kernel @neg(%p: memref<64xf32>, %q: memref<64xf32>) in_place(%q over %p) {
  loop.for parallel %i = 0 to 64 {
    %v = loop.load %p[%i] : memref<64xf32>
    %w = arith.negf %v : f32
    loop.store %w, %q[%i] : memref<64xf32>
  }
}
// CHECK-LABEL: program.func @no_in_place_when_read_later
//  CHECK-SAME:   arena(%arena: memref<512xi8>)
program.func @no_in_place_when_read_later(%x: memref<64xf32>) -> (%y: memref<64xf32>) {
  %a = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<64xf32>
  "memref.copy"(%x, %a) : (memref<64xf32>, memref<64xf32>) -> ()
  %b = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<64xf32>
  loop.launch @neg(%a, %b) : (memref<64xf32>, memref<64xf32>)
  loop.launch @neg(%b, %y) : (memref<64xf32>, memref<64xf32>)
  "memref.copy"(%a, %y) : (memref<64xf32>, memref<64xf32>) -> ()
}

// -----

/// Without intermediates the arena is empty, and still an argument: one ABI for all.
// CHECK-LABEL: program.func @nothing_to_plan
//  CHECK-SAME:   arena(%arena: memref<0xi8>)
program.func @nothing_to_plan(%x: memref<4xf32>) -> (%y: memref<4xf32>) {
  "memref.copy"(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
}

// -----

/// Functions of graphs are left alone.
// CHECK-LABEL: func.func @no_host_function
//   CHECK-NOT:   arena
func.func @no_host_function(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

/// A temporary that is first used through a view is in use from there on: `%b` is written while `%a` still is read.
// CHECK-LABEL: program.func @views
//  CHECK-SAME:   temporaries(%a: memref<?x4xf32>, %b: memref<?x4xf32>)
program.func @views(%x: memref<?x4xf32>) -> (%y: memref<?x4xf32>, %z: memref<?x4xf32>) sizes(%N: index, %M: index) shapes(%x[%N, 4], %y[%N, 4], %z[%N, 4]) meant <"N", "4 * N"> {
  %a = memref.alloc(%N) : memref<?x4xf32>
  "memref.copy"(%x, %a) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %b = memref.alloc(%N) : memref<?x4xf32>
  %v = memref.reinterpret_cast %b to offset: [0], sizes: [%M], strides: [1] : memref<?x4xf32> to memref<?xf32>
  %w = memref.reinterpret_cast %x to offset: [0], sizes: [%M], strides: [1] : memref<?x4xf32> to memref<?xf32>
  "memref.copy"(%w, %v) : (memref<?xf32>, memref<?xf32>) -> ()
  "memref.copy"(%a, %y) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  "memref.copy"(%b, %z) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
}
