// RUN: lamina-opt %s --target=x86-64-v3 -p graph-winograd --split-input-file | filecheck %s
// RUN: lamina-opt %s --target=x86-64-v3 -p 'graph-winograd{amplification=20.0}' --split-input-file | filecheck %s --check-prefix=TWO

/// Much to compute: tiles, features innermost.
// CHECK-LABEL: func.func @tiles
//  CHECK-SAME:   (%[[X:.+]]: tensor<1x64x56x56xf32>, %[[W:.+]]: tensor<64x64x3x3xf32>)
//  CHECK-NEXT:   %[[A:.+]] = graph.transpose %[[X]] perm [0, 2, 3, 1]
//  CHECK-NEXT:   %[[C:.+]] = graph.conv %[[A]], %[[W]] stride [1, 1] low [1, 1] high [1, 1]
//  CHECK-SAME:     x_dims [0, 3, 1, 2] y_dims [0, 3, 1, 2] groups 1 tile [4, 4]
//  CHECK-NEXT:   %[[Y:.+]] = graph.transpose %[[C]] perm [0, 3, 1, 2]
//  CHECK-NEXT:   return %[[Y]] : tensor<1x64x56x56xf32>
// TWO-LABEL:  func.func @tiles
//       TWO:    tile [2, 2]
func.func @tiles(%x: tensor<1x64x56x56xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32> {
  %y = graph.conv %x, %w stride [1, 1] low [1, 1] high [1, 1] groups 1
    : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  return %y : tensor<1x64x56x56xf32>
}

// -----

/// Features last already: nothing is moved.
// CHECK-LABEL: func.func @features_last
//  CHECK-NEXT:   %[[Y:.+]] = graph.conv
//  CHECK-SAME:     tile [4, 4]
//  CHECK-NEXT:   return %[[Y]]
func.func @features_last(%x: tensor<1x56x56x64xf32>, %w: tensor<3x3x64x64xf32>) -> tensor<1x56x56x64xf32> {
  %y = graph.conv %x, %w stride [1, 1] low [1, 1] high [1, 1] x_dims [0, 3, 1, 2] w_dims [3, 2, 0, 1] y_dims [0, 3, 1, 2] groups 1
    : (tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x56x56x64xf32>
  return %y : tensor<1x56x56x64xf32>
}

// -----

/// What follows comes before the transpose, so that the convolution can end in it.
// CHECK-LABEL: func.func @followed
//  CHECK-SAME:   (%[[X:.+]]: tensor<1x64x56x56xf32>, %[[W:.+]]: tensor<64x64x3x3xf32>, %[[B:.+]]: tensor<64x1x1xf32>)
//       CHECK:   %[[C:.+]] = graph.conv
//       CHECK:   %[[R:.+]] = graph.reshape %[[B]] : tensor<64x1x1xf32> -> tensor<64xf32>
//  CHECK-NEXT:   %[[S:.+]] = graph.broadcast %[[R]] to [3] : tensor<64xf32> -> tensor<1x56x56x64xf32>
//  CHECK-NEXT:   %[[T:.+]] = graph.add %[[C]], %[[S]] : tensor<1x56x56x64xf32>
//  CHECK-NEXT:   %[[E:.+]] = graph.exp %[[T]] : tensor<1x56x56x64xf32>
//  CHECK-NEXT:   %[[Y:.+]] = graph.transpose %[[E]] perm [0, 3, 1, 2]
//  CHECK-NEXT:   return %[[Y]]
func.func @followed(%x: tensor<1x64x56x56xf32>, %w: tensor<64x64x3x3xf32>, %b: tensor<64x1x1xf32>) -> tensor<1x64x56x56xf32> {
  %c = graph.conv %x, %w stride [1, 1] low [1, 1] high [1, 1] groups 1
    : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  %bb = graph.broadcast %b to [1, 2, 3] : tensor<64x1x1xf32> -> tensor<1x64x56x56xf32>
  %s = graph.add %c, %bb : tensor<1x64x56x56xf32>
  %y = graph.exp %s : tensor<1x64x56x56xf32>
  return %y : tensor<1x64x56x56xf32>
}

// -----

/// Another image that is added stands in the order it is given in.
// CHECK-LABEL: func.func @no_broadcast
//       CHECK:   %[[Y:.+]] = graph.transpose %{{.+}} perm [0, 3, 1, 2]
//  CHECK-NEXT:   graph.add %[[Y]], %{{.+}} : tensor<1x64x56x56xf32>
func.func @no_broadcast(%x: tensor<1x64x56x56xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32> {
  %c = graph.conv %x, %w stride [1, 1] low [1, 1] high [1, 1] groups 1
    : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  %y = graph.add %c, %x : tensor<1x64x56x56xf32>
  return %y : tensor<1x64x56x56xf32>
}

// -----

/// A tile that is given stays, where it does not pay, too.
// CHECK-LABEL: func.func @given
//       CHECK:   graph.conv
//  CHECK-SAME:     tile [2, 2]
func.func @given(%x: tensor<1x4x6x6xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %y = graph.conv %x, %w stride [1, 1] low [1, 1] high [1, 1] groups 1 tile [2, 2]
    : (tensor<1x4x6x6xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %y : tensor<1x4x6x6xf32>
}

// -----

/// The direct form, where it was asked for.
// CHECK-LABEL: func.func @no_tile_given
//  CHECK-NEXT:   graph.conv
//  CHECK-SAME:     tile [1, 1]
func.func @no_tile_given(%x: tensor<1x64x56x56xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32> {
  %y = graph.conv %x, %w stride [1, 1] low [1, 1] high [1, 1] groups 1 tile [1, 1]
    : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  return %y : tensor<1x64x56x56xf32>
}

// -----

/// Few features: transforms would cost more than they save.
// CHECK-LABEL: func.func @no_few_features
//   CHECK-NOT:   tile
//       CHECK:   return
func.func @no_few_features(%x: tensor<1x3x56x56xf32>, %w: tensor<64x3x3x3xf32>) -> tensor<1x64x56x56xf32> {
  %y = graph.conv %x, %w stride [1, 1] low [1, 1] high [1, 1] groups 1
    : (tensor<1x3x56x56xf32>, tensor<64x3x3x3xf32>) -> tensor<1x64x56x56xf32>
  return %y : tensor<1x64x56x56xf32>
}

// -----

/// Strides, and filters of other sizes.
// CHECK-LABEL: func.func @no_strides
//   CHECK-NOT:   tile
//       CHECK:   return
func.func @no_strides(%x: tensor<1x64x57x57xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x28x28xf32> {
  %y = graph.conv %x, %w stride [2, 2] low [0, 0] high [0, 0] groups 1
    : (tensor<1x64x57x57xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x28x28xf32>
  return %y : tensor<1x64x28x28xf32>
}
