// RUN: lamina-opt %s --target=x86-64-v2 --compile-to=scheduled | filecheck %s --check-prefixes=V2
// RUN: lamina-opt %s --target=aarch64 --compile-to=scheduled | filecheck %s --check-prefixes=NEON
// RUN: lamina-opt %s --target='x86-64-v4{vector=256 tile=12x2}' --compile-to=scheduled | filecheck %s --check-prefixes=NARROW
// RUN: lamina-opt %s --compile-to=scheduled | filecheck %s --check-prefixes=SAID
// RUN: lamina-opt %s --compile-to=scheduled | lamina-opt --compile-to=asm | filecheck %s --check-prefix=ASM
// RUN: lamina-compile %s --target aarch64 -o %t.s && filecheck %s --check-prefix=A64 --input-file %t.s

/// A module names its target; `--target` names another. Tiles of a matmul have the target's rows and vectors, and what is
/// printed goes on for the same target, whatever the machine.
//    V2: lamina.target = "x86-64-v2"
//    V2: step 6
//    V2: vector<4xf32>
//  NEON: lamina.target = "aarch64"
//  NEON: step 8
//  NEON: vector<4xf32>
// NARROW: lamina.target = "x86-64-v4{vector=256 tile=12x2}"
// NARROW: step 12
// NARROW: vector<8xf32>
//  SAID: lamina.target = "x86-64-v4{l2=2M}"
//  SAID: step 8
//  SAID: vector<16xf32>
//   ASM: vfmadd{{.*}}zmm
//   A64: fmla v{{.*}}.4s
builtin.module attributes {lamina.target = "x86-64-v4{l2=2M}"} {
  func.func @main(%x: tensor<480x256xf32>, %w: tensor<256x480xf32>) -> tensor<480x480xf32> {
    %y = graph.dot %x, %w contract [1] with [0] : (tensor<480x256xf32>, tensor<256x480xf32>) -> tensor<480x480xf32>
    return %y : tensor<480x480xf32>
  }
}
