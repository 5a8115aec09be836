// RUN: lamina-opt %s --split-input-file --verify-diagnostics

/// A value is used before it is defined; every such op is reported.
func.func @use_before_definition(%x: f32) -> f32 {
  // expected-error@+1 {{'arith.addf' op operand #1 %b is not defined before this use}}
  %a = arith.addf %x, %b : f32
  %b = arith.addf %x, %x : f32
  // expected-error@below {{'arith.mulf' op operand #0 %d is not defined before this use}}
  %c = arith.mulf %d, %b : f32
  %d = arith.addf %x, %x : f32
  return %c : f32
}

// -----

/// A definition in one branch does not reach the other.
func.func @sibling_blocks(%p: i1, %x: f32) -> f32 {
  cf.cond_br %p, ^one, ^two
^one:
  %a = arith.addf %x, %x : f32
  return %a : f32
^two:
  // expected-error@+1 {{is not defined before this use}}
  return %a : f32
}

// -----

// expected-error@+1 {{the limit is 536870912 bytes}}
%0 = arith.constant dense<0.0> : tensor<1000000x1000000xf32>

// -----

// expected-error@+1 {{hexadecimal float does not fit f16}}
%0 = arith.constant dense<0x12345> : tensor<2xf16>

// -----

// expected-error@+1 {{dense constant has shape [3], its type says [2]}}
%0 = arith.constant dense<[1, 2, 3]> : tensor<2xi32>
