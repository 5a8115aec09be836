// RUN: env PYTHONPATH=%S/../../../examples/extension lamina-opt %s --extension lamina_softcap -p graph-select-kernels --target x86-64-v3 | filecheck %s

// A kernel is registered for vectors of f32 of up to 64 elements: it is called, and stands in the module once.
// CHECK-LABEL: func.func @short
// CHECK:         %{{.*}} = graph.kernel @short_differences(%x, %y, out) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:    %{{.*}} = graph.kernel @short_differences(%y, %x, out) : (tensor<3xf32>, tensor<4xf32>) -> tensor<3x4xf32>
func.func @short(%x: tensor<4xf32>, %y: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3x4xf32>) {
  %z = softcap.differences %x, %y : (tensor<4xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %w = softcap.differences %y, %x : (tensor<3xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return %z, %w : tensor<4x3xf32>, tensor<3x4xf32>
}

// CHECK-LABEL: func.func @no_condition_does_not_hold
// CHECK:         softcap.differences
func.func @no_condition_does_not_hold(%x: tensor<65xf32>) -> tensor<65x65xf32> {
  %z = softcap.differences %x, %x : (tensor<65xf32>, tensor<65xf32>) -> tensor<65x65xf32>
  return %z : tensor<65x65xf32>
}

// CHECK-LABEL: func.func @no_other_element_type
// CHECK:         softcap.differences
func.func @no_other_element_type(%x: tensor<4xf64>) -> tensor<4x4xf64> {
  %z = softcap.differences %x, %x : (tensor<4xf64>, tensor<4xf64>) -> tensor<4x4xf64>
  return %z : tensor<4x4xf64>
}

// An op that costs less than the kernel says of itself keeps its loops.
// CHECK-LABEL: func.func @no_own_loops_are_cheaper
// CHECK:         softcap.differences
func.func @no_own_loops_are_cheaper(%x: tensor<1xf32>) -> tensor<1x1xf32> {
  %z = softcap.differences %x, %x : (tensor<1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  return %z : tensor<1x1xf32>
}

// CHECK:       loop.kernel @short_differences
// CHECK-NOT:   loop.kernel
