// RUN: lamina-opt %s --verify-diagnostics --split-input-file

/// What reads its operands as signed does not take unsigned ones: the type and the op would say two things.

loop.kernel @quotient(%a: ui8) {
  // expected-error@+1 {{'arith.divsi' op is of signed integers, got ui8}}
  %q = arith.divsi %a, %a : ui8
}

// -----

loop.kernel @greater(%x: ui8) {
  %a = vector.broadcast %x : ui8 to vector<16xui8>
  // expected-error@+1 {{'arith.maxsi' op is of signed integers, got vector<16xui8>}}
  %m = arith.maxsi %a, %a : vector<16xui8>
}

// -----

loop.kernel @less(%a: ui8) {
  // expected-error@+1 {{'arith.cmpi' op compares ui8 as signed: the predicate of unsigned integers is ult}}
  %c = arith.cmpi slt, %a, %a : ui8
}

// -----

loop.kernel @extended(%a: ui8) {
  // expected-error@+1 {{'arith.extsi' op cannot convert ui8 to i32}}
  %w = arith.extsi %a : ui8 to i32
}

// -----

loop.kernel @index(%a: ui8) {
  // expected-error@+1 {{'arith.index_cast' op cannot convert ui8 to index}}
  %i = arith.index_cast %a : ui8 to index
}

// -----

func.func @indices(%x: tensor<9xf32>, %i: tensor<4xui8>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.gather' op indices must be i32 or i64, got ui8}}
  %y = graph.gather %x, %i at [0] : (tensor<9xf32>, tensor<4xui8>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @explicit_sign(%x: tensor<4xsi8>) -> tensor<4xsi8> {
  // expected-error-re@+1 {{'graph.add' op element type must be one of {{.*}}, got tensor<4xsi8>}}
  %y = graph.add %x, %x : tensor<4xsi8>
  return %y : tensor<4xsi8>
}

// -----

func.func @range() -> tensor<2xui8> {
  // expected-error@+1 {{256}}
  %y = graph.const dense<[1, 256]> : tensor<2xui8>
  return %y : tensor<2xui8>
}
