// RUN: lamina-opt %s | lamina-opt --verify-each | filecheck %s
// RUN: lamina-opt %s --print-op-generic | lamina-opt | filecheck %s
// RUN: lamina-opt %s --print-debuginfo | lamina-opt | filecheck %s

/// Inputs, results, and what the caller gives away.
// CHECK-LABEL: program.func @main(%x: memref<4xf32> donated, %w: memref<4xf32>) -> (%y: memref<4xf32>) work 8 {
//  CHECK-NEXT: }
program.func @main(%x: memref<4xf32> donated, %w: memref<4xf32>) -> (%y: memref<4xf32>) work 8 {
}

/// After plan-buffers: the arena, and which result may be written over which input.
// CHECK-LABEL: program.func @planned(%x: memref<4xf32>, %w: memref<4xf32>) -> (%y: memref<4xf32>, %z: memref<4xf32> over %x)
//  CHECK-SAME:   arena(%arena: memref<64xi8>) work 8 peak 64 attributes {note = "kept"} {
program.func @planned(%x: memref<4xf32>, %w: memref<4xf32>) -> (%y: memref<4xf32>, %z: memref<4xf32> over %x)
    arena(%arena: memref<64xi8>) work 8 peak 64 attributes {note = "kept"} {
}

/// Called by functions of the module alone.
// CHECK-LABEL: program.func private @"a body"() -> () {
program.func private @"a body"() -> () {
}
