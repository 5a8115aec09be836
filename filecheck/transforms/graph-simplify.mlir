// RUN: lamina-opt %s -p graph-simplify --split-input-file | filecheck %s
// RUN: lamina-opt %s -p canonicalize --split-input-file | filecheck %s

/// Transposes that differentiation leaves around products become other contracting dims.
// CHECK-LABEL: func.func @transposes_into_dot
//  CHECK-SAME:   (%[[X:.+]]: tensor<2x3xf32>, %[[Y:.+]]: tensor<2x4xf32>)
//  CHECK-NEXT:   %[[D:.+]] = graph.dot %[[Y]], %[[X]] contract [0] with [0] : {{.*}} -> tensor<4x3xf32>
//  CHECK-NEXT:   return %[[D]]
func.func @transposes_into_dot(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) -> tensor<4x3xf32> {
  %t = graph.transpose %x perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %d = graph.dot %t, %y contract [1] with [0] : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %r = graph.transpose %d perm [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// -----

/// A product that others need in its own order is not computed twice.
// CHECK-LABEL: func.func @no_second_dot
//  CHECK-NEXT:   %[[D:.+]] = graph.dot
//  CHECK-NEXT:   %[[T:.+]] = graph.transpose %[[D]]
//  CHECK-NEXT:   return %[[D]], %[[T]]
func.func @no_second_dot(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>) {
  %d = graph.dot %x, %y contract [1] with [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %t = graph.transpose %d perm [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
  return %d, %t : tensor<2x4xf32>, tensor<4x2xf32>
}

// -----

/// Signs meet and cancel.
// CHECK-LABEL: func.func @signs
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xf32>, %[[Y:.+]]: tensor<4xf32>)
//  CHECK-NEXT:   %[[P:.+]] = graph.mul %[[X]], %[[Y]]
//  CHECK-NEXT:   %[[S:.+]] = graph.sub %[[X]], %[[P]]
//  CHECK-NEXT:   return %[[S]]
func.func @signs(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %n = graph.neg %y : tensor<4xf32>
  %p = graph.mul %x, %n : tensor<4xf32>
  %s = graph.add %x, %p : tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

/// Work moves to where there are fewer elements.
// CHECK-LABEL: func.func @before_broadcast
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xf32>, %[[Y:.+]]: tensor<4xf32>)
//  CHECK-NEXT:   %[[S:.+]] = graph.add %[[X]], %[[Y]] : tensor<4xf32>
//  CHECK-NEXT:   %[[E:.+]] = graph.exp %[[S]] : tensor<4xf32>
//  CHECK-NEXT:   %[[B:.+]] = graph.broadcast %[[E]] to [1] : tensor<4xf32> -> tensor<8x4xf32>
//  CHECK-NEXT:   return %[[B]]
func.func @before_broadcast(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<8x4xf32> {
  %a = graph.broadcast %x to [1] : tensor<4xf32> -> tensor<8x4xf32>
  %b = graph.broadcast %y to [1] : tensor<4xf32> -> tensor<8x4xf32>
  %s = graph.add %a, %b : tensor<8x4xf32>
  %e = graph.exp %s : tensor<8x4xf32>
  return %e : tensor<8x4xf32>
}

// -----

/// A sum over repetitions is a product.
// CHECK-LABEL: func.func @sum_of_repeated
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xf32>)
//       CHECK:   graph.const dense<8.000000e+00>
//       CHECK:   graph.mul %[[X]]
//   CHECK-NOT:   graph.reduce
//       CHECK:   return
func.func @sum_of_repeated(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = graph.broadcast %x to [1] : tensor<4xf32> -> tensor<8x4xf32>
  %s = graph.reduce add %b over [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

/// Adding 0.0 is kept: -0.0 + 0.0 is 0.0. So is multiplying by 0.0, and x - x: inf and NaN show.
// CHECK-LABEL: func.func @no_inexact_identity
//       CHECK:   graph.add
//       CHECK:   graph.mul
//       CHECK:   graph.sub
func.func @no_inexact_identity(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %z = graph.const dense<0.0> : tensor<4xf32>
  %a = graph.add %x, %z : tensor<4xf32>
  %m = graph.mul %x, %z : tensor<4xf32>
  %s = graph.sub %x, %x : tensor<4xf32>
  return %a, %m, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

/// Halves that are only moved are not converted; what else reads the wide number keeps both conversions.
// CHECK-LABEL: func.func @convert_of_moved
//  CHECK-SAME:   (%[[X:.+]]: tensor<4xf16>)
//  CHECK-NEXT:   %[[Y:.+]] = graph.concat %[[X]], %[[X]] along 0 : (tensor<4xf16>, tensor<4xf16>) -> tensor<8xf16>
//  CHECK-NEXT:   return %[[Y]]
func.func @convert_of_moved(%x: tensor<4xf16>) -> tensor<8xf16> {
  %w = graph.convert %x : tensor<4xf16> -> tensor<4xf32>
  %c = graph.concat %w, %w along 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %y = graph.convert %c : tensor<8xf32> -> tensor<8xf16>
  return %y : tensor<8xf16>
}

// CHECK-LABEL: func.func @no_convert_of_moved
//       CHECK:   graph.reverse {{.*}} : tensor<4xf32>
func.func @no_convert_of_moved(%x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf32>) {
  %w = graph.convert %x : tensor<4xf16> -> tensor<4xf32>
  %r = graph.reverse %w dims [0] : tensor<4xf32>
  %y = graph.convert %r : tensor<4xf32> -> tensor<4xf16>
  return %y, %r : tensor<4xf16>, tensor<4xf32>
}
