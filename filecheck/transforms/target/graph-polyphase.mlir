// RUN: lamina-opt %s -p graph-polyphase --split-input-file --validate-each | filecheck %s

/// Two phases: the even results meet the odd elements of the filter, the odd ones the even elements.
// CHECK-LABEL: func.func @two
//  CHECK-SAME:   (%[[X:.+]]: tensor<1x8x4xf32>, %[[W:.+]]: tensor<2x8x3xf32>)
//  CHECK-NEXT:   %[[ODD:.+]] = graph.slice %[[W]] start [0, 0, 1] stop [2, 8, 3] step [1, 1, 2] : tensor<2x8x3xf32> -> tensor<2x8x1xf32>
//  CHECK-NEXT:   %[[P:.+]] = graph.conv %[[X]], %[[ODD]] stride [1] low [0] high [0] groups 1
//  CHECK-NEXT:   %[[EVEN:.+]] = graph.slice %[[W]] start [0, 0, 0] stop [2, 8, 3] step [1, 1, 2] : tensor<2x8x3xf32> -> tensor<2x8x2xf32>
//  CHECK-NEXT:   %[[Q:.+]] = graph.conv %[[X]], %[[EVEN]] stride [1] low [0] high [1] groups 1
//  CHECK-NEXT:   %[[A:.+]] = graph.reshape %[[P]]
//  CHECK-NEXT:   %[[B:.+]] = graph.reshape %[[Q]]
//  CHECK-NEXT:   %[[C:.+]] = graph.concat %[[A]], %[[B]] along 0
//       CHECK:   %[[T:.+]] = graph.transpose %{{.+}} perm [1, 2, 3, 0] : tensor<2x1x2x4xf32> -> tensor<1x2x4x2xf32>
//  CHECK-NEXT:   %[[Y:.+]] = graph.reshape %[[T]] : tensor<1x2x4x2xf32> -> tensor<1x2x8xf32>
//  CHECK-NEXT:   return %[[Y]]
func.func @two(%x: tensor<1x8x4xf32>, %w: tensor<2x8x3xf32>) -> tensor<1x2x8xf32> {
  %y = graph.conv %x, %w stride [1] low [1] high [2] base_dilation [2] groups 1
    : (tensor<1x8x4xf32>, tensor<2x8x3xf32>) -> tensor<1x2x8xf32>
  return %y : tensor<1x2x8xf32>
}

// -----

/// One result less than the phases have together.
// CHECK-LABEL: func.func @odd
//       CHECK:   graph.reshape %{{.+}} -> tensor<1x2x8xf32>
//  CHECK-NEXT:   graph.slice %{{.+}} start [0, 0, 0] stop [1, 2, 7]
func.func @odd(%x: tensor<1x8x4xf32>, %w: tensor<2x8x3xf32>) -> tensor<1x2x7xf32> {
  %y = graph.conv %x, %w stride [1] low [1] high [1] base_dilation [2] groups 1
    : (tensor<1x8x4xf32>, tensor<2x8x3xf32>) -> tensor<1x2x7xf32>
  return %y : tensor<1x2x7xf32>
}

// -----

/// A filter of one element: the results of one phase, and zeros.
// CHECK-LABEL: func.func @one
//  CHECK-SAME:   (%[[X:.+]]: tensor<1x4x4x16xf32>, %[[W:.+]]: tensor<1x1x16x8xf32>)
//       CHECK:   %[[P:.+]] = graph.conv %[[X]], %{{.+}} stride [1, 1] low [0, 0] high [0, 0] x_dims
//       CHECK:   graph.pad %[[P]], %{{.+}} low [0, 0, 0, 0] high [0, 1, 1, 0] interior [0, 1, 1, 0] : (tensor<1x4x4x8xf32>, tensor<f32>) -> tensor<1x8x8x8xf32>
func.func @one(%x: tensor<1x4x4x16xf32>, %w: tensor<1x1x16x8xf32>) -> tensor<1x8x8x8xf32> {
  %y = graph.conv %x, %w stride [1, 1] low [0, 0] high [1, 1] base_dilation [2, 2] x_dims [0, 3, 1, 2] w_dims [3, 2, 0, 1] y_dims [0, 3, 1, 2] groups 1
    : (tensor<1x4x4x16xf32>, tensor<1x1x16x8xf32>) -> tensor<1x8x8x8xf32>
  return %y : tensor<1x8x8x8xf32>
}

// -----

/// A dim that is not dilated keeps its stride; a phase without elements of the filter is zero.
// CHECK-LABEL: func.func @some
//       CHECK:   %[[A:.+]] = graph.conv %{{.+}} stride [2, 1] low [1, 0] high [0, 0] dilation [2, 1] groups 1
//       CHECK:   %[[ZERO:.+]] = graph.const dense<0.000000e+00>
//  CHECK-NEXT:   %[[B:.+]] = graph.broadcast %[[ZERO]] to []
//       CHECK:   %[[C:.+]] = graph.conv %{{.+}} stride [2, 1] low [1, -1] high [0, 1] dilation [2, 1] groups 1
//   CHECK-DAG:   %[[P:.+]] = graph.reshape %[[A]]
//   CHECK-DAG:   %[[Q:.+]] = graph.reshape %[[B]]
//   CHECK-DAG:   %[[R:.+]] = graph.reshape %[[C]]
//       CHECK:   graph.concat %[[P]], %[[Q]], %[[R]] along 0
func.func @some(%x: tensor<1x8x6x4xf32>, %w: tensor<2x8x2x2xf32>) -> tensor<1x2x3x12xf32> {
  %y = graph.conv %x, %w stride [2, 1] low [1, 0] high [0, 3] base_dilation [1, 3] dilation [2, 1] groups 1
    : (tensor<1x8x6x4xf32>, tensor<2x8x2x2xf32>) -> tensor<1x2x3x12xf32>
  return %y : tensor<1x2x3x12xf32>
}

// -----

/// Not split: a stride in the dilated dim, symbolic sizes, less to save than to move.
// CHECK-LABEL: func.func @no_stride
//   CHECK-NOT:   graph.concat
func.func @no_stride(%x: tensor<1x8x4xf32>, %w: tensor<2x8x3xf32>) -> tensor<1x2x4xf32> {
  %y = graph.conv %x, %w stride [2] low [1] high [1] base_dilation [2] groups 1
    : (tensor<1x8x4xf32>, tensor<2x8x3xf32>) -> tensor<1x2x4xf32>
  return %y : tensor<1x2x4xf32>
}

// CHECK-LABEL: func.func @no_open_sizes
//   CHECK-NOT:   graph.concat
func.func @no_open_sizes(%x: tensor<?x8x4xf32>, %w: tensor<2x8x3xf32>) -> tensor<?x2x7xf32> {
  %y = graph.conv %x, %w stride [1] low [1] high [1] base_dilation [2] groups 1
    : (tensor<?x8x4xf32>, tensor<2x8x3xf32>) -> tensor<?x2x7xf32>
  return %y : tensor<?x2x7xf32>
}

// CHECK-LABEL: func.func @no_gain
//   CHECK-NOT:   graph.concat
func.func @no_gain(%x: tensor<1x1x4xf32>, %w: tensor<2x1x3xf32>) -> tensor<1x2x7xf32> {
  %y = graph.conv %x, %w stride [1] low [1] high [1] base_dilation [2] groups 1
    : (tensor<1x1x4xf32>, tensor<2x1x3xf32>) -> tensor<1x2x7xf32>
  return %y : tensor<1x2x7xf32>
}
