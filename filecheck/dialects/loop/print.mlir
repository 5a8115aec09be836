// RUN: lamina-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: lamina-opt %s -p 'loop-auto' --split-input-file --verify-diagnostics | filecheck %s

/// Lines come in the order of the loops: the default schedule leaves a kernel that prints as it is.
// CHECK-LABEL: loop.kernel @lines
//  CHECK-NEXT:   loop.for seq %i = 0 to %N {
//  CHECK-NEXT:     %a = loop.load %x[%i] : memref<?xf32>
//  CHECK-NEXT:     loop.print "x[{0}] = {1:.3f}\0A"(%i, %a) : (index, f32)
//  CHECK-NEXT:     loop.print "next" flush() : ()
loop.kernel @lines(%x: memref<?xf32>, %N: index) shapes(%x[%N]) {
  loop.for seq %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    loop.print "x[{0}] = {1:.3f}\n"(%i, %a) : (index, f32)
    loop.print "next" flush() : ()
  }
}

// -----

loop.kernel @print_c1_field(%x: f32) {
  // expected-error@+1 {{'loop.print' op fields are the numbers of its 1 values, got {1}}}
  loop.print "{1}"(%x) : (f32)
}

// -----

loop.kernel @print_c1_attribute(%x: f32) {
  // expected-error@+1 {{'loop.print' op fields are the numbers of its 1 values, got {0.real}}}
  loop.print "{0.real}"(%x) : (f32)
}

// -----

loop.kernel @print_c1_brace(%x: f32) {
  // expected-error@+1 {{'loop.print' op text is no format: Single '}' encountered in format string}}
  loop.print "}"(%x) : (f32)
}

// -----

loop.kernel @print_c2_number(%x: memref<4xf32>) {
  // expected-error@+1 {{'loop.print' op prints numbers, got memref<4xf32>}}
  loop.print "{0}"(%x) : (memref<4xf32>)
}

// -----

loop.kernel @print_c2_format(%x: f32) {
  // expected-error@+1 {{'loop.print' op cannot format its values: Unknown format code 'd'}}
  loop.print "{0:d}"(%x) : (f32)
}
