// RUN: lamina-opt %s --compile-to=llvmir --split-input-file --verify-diagnostics
// RUN: not lamina-opt %S/lamina-opt.mlir --compile-to=llvmir 2>&1 | filecheck %s --check-prefix=SCALARS

/// Every message about a text has a place, also where the IR verifies and only the lowering refuses it.
// SCALARS: lamina-opt.mlir:{{[0-9]+}}:1: error: function @f has a value of type f32: only functions over tensors are compiled
// SCALARS-NEXT: func.func @f

func.func @two_blocks(%x: tensor<4xf32>, %p: i1) -> tensor<4xf32> {
  // expected-error@+1 {{'func.func' op @two_blocks has 3 blocks: only functions of one block are compiled}}
  cf.cond_br %p, ^a, ^b
^a:
  return %x : tensor<4xf32>
^b:
  return %x : tensor<4xf32>
}

// -----

func.func @open(%n: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{block ^nope is used but not defined in this region}}
  cf.br ^nope
^a:
  return %n : tensor<4xf32>
}

// -----

func.func @other(%y: tensor<4xf32>) -> tensor<4xf32> {
  return %y : tensor<4xf32>
}

func.func @undefined(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{%y is used but not defined}}
  return %y : tensor<4xf32>
}

// -----

loop.kernel @wide_constant(%x: memref<4xf32>) {
  // expected-error@+1 {{no constant of type f80 can be held: the widest is f64}}
  %c = arith.constant 0.0 : f80
}

// -----

// expected-error@+1 {{no constant of type f128 can be held: the widest is f64}}
module attributes {a.b = dense<[1.0, 2.0]> : tensor<2xf128>} {}

// -----

func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'func.call' op has no loop form: convert-graph-to-loop cannot lower it}}
  %y = func.call @declared(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error@+1 {{'loop.kernel' op in_place must be pairs of numbers of arguments, got array<i64: 1>}}
"loop.kernel"() <{sym_name = "malformed", in_place = array<i64: 1>}> ({
^bb0(%x: memref<4xf32>):
}) : () -> ()

// -----

loop.kernel @no_type(%x: memref<4xi24>) {
  loop.for seq %i = 0 to 4 {
    // expected-error@+1 {{'loop.load' op has a value of type i24, which has no LLVM type here}}
    %a = loop.load %x[%i] : memref<4xi24>
    loop.store %a, %x[%i] : memref<4xi24>
  }
}
