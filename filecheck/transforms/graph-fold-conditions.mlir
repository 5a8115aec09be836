// RUN: lamina-opt %s -p 'graph-fold-conditions,graph-simplify,graph-dce' --verify-each --validate-each | filecheck %s

func.func private @a(%x: tensor<f32>) -> tensor<f32> {
  %y = graph.neg %x : tensor<f32>
  return %y : tensor<f32>
}
func.func private @b(%x: tensor<f32>) -> tensor<f32> {
  %y = graph.exp %x : tensor<f32>
  return %y : tensor<f32>
}
func.func private @again(%x: tensor<f32>, %z: tensor<f32>) -> tensor<f32> {
  %p = graph.cmp lt %z, %x : tensor<f32>
  %y = graph.case %p [@b, @a](%x) : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}
/// x > 0 is asked again in its branch, the other way around. In the other branch x may be NaN, but x > 0 does not hold.
//       CHECK: func.func private @[[YES:again_\w+]](
//  CHECK-NEXT:   graph.neg
//       CHECK: func.func private @[[NO:again_\w+]](
//  CHECK-NEXT:   graph.exp
// CHECK-LABEL: func.func @twice
//       CHECK:   graph.case %p [@[[NO]], @[[YES]]](
func.func @twice(%x: tensor<f32>, %z: tensor<f32>) -> tensor<f32> {
  %p = graph.cmp gt %x, %z : tensor<f32>
  %y = graph.case %p [@again, @again](%x, %z) : (tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

/// Where x < z does not hold, x >= z does not follow of floats.
func.func private @at_least(%x: tensor<f32>, %z: tensor<f32>) -> tensor<f32> {
  %p = graph.cmp ge %x, %z : tensor<f32>
  %y = graph.case %p [@b, @a](%x) : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}
func.func private @first(%x: tensor<f32>, %z: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
// CHECK-LABEL: func.func private @at_least
//       CHECK:   graph.case
// CHECK-LABEL: func.func @no_nan
//       CHECK:   graph.case %p [@at_least, @first
func.func @no_nan(%x: tensor<f32>, %z: tensor<f32>) -> tensor<f32> {
  %p = graph.cmp lt %x, %z : tensor<f32>
  %y = graph.case %p [@at_least, @first](%x, %z) : (tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}
