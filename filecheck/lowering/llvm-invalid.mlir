// RUN: not lamina-opt %s --compile-to=llvmir 2>&1 | filecheck %s

/// What has no translation is named where it stands.
// CHECK: llvm-invalid.mlir:{{[0-9]+}}:10: error: 'math.fpowi' op has no translation to LLVM IR
builtin.module attributes {lamina.phase = "program"} {
  loop.kernel @k(%x: memref<4xf32>) {
    %n = arith.constant 2 : i32
    %a = loop.load %x[0] : memref<4xf32>
    %b = math.fpowi %a, %n : f32, i32
  }
}
