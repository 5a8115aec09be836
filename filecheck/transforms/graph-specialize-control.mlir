// RUN: lamina-opt %s -p 'graph-specialize{shapes=_,4,3x4}' --verify-each | filecheck %s

/// The functions of loops and branches get the sizes of what they are given.

// CHECK-LABEL: func.func private @going(%n: tensor<i64>, %i: tensor<i64>, %x: tensor<4xf32>) -> tensor<i1>
// CHECK-LABEL: func.func private @step(%n: tensor<i64>, %i: tensor<i64>, %x: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
// CHECK-LABEL: func.func private @same(%x: tensor<4xf32>) -> tensor<4xf32>
// CHECK-LABEL: func.func private @neg(%x: tensor<4xf32>) -> tensor<4xf32>
// CHECK-LABEL: func.func private @add(%i: tensor<i64>, %h: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-LABEL: func.func @main
//       CHECK:   graph.while {{.*}} -> (tensor<i64>, tensor<4xf32>)
//       CHECK:   graph.case {{.*}} -> (tensor<4xf32>)
//       CHECK:   graph.for {{.*}} -> (tensor<4xf32>, tensor<3x4xf32>)
func.func private @going(%n: tensor<i64>, %i: tensor<i64>, %x: tensor<?xf32>) -> tensor<i1> {
  %c = graph.cmp lt %i, %n : tensor<i64>
  return %c : tensor<i1>
}
func.func private @step(%n: tensor<i64>, %i: tensor<i64>, %x: tensor<?xf32>) -> (tensor<i64>, tensor<?xf32>) {
  %one = graph.const dense<1> : tensor<i64>
  %j = graph.add %i, %one : tensor<i64>
  %y = graph.add %x, %x : tensor<?xf32>
  return %j, %y : tensor<i64>, tensor<?xf32>
}
func.func private @same(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func private @neg(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = graph.neg %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func private @add(%i: tensor<i64>, %h: tensor<?xf32>, %x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %y = graph.add %h, %x : tensor<?xf32>
  return %y, %x : tensor<?xf32>, tensor<?xf32>
}
func.func @main(%n: tensor<i64>, %x: tensor<?xf32>, %xs: tensor<3x?xf32>) -> (tensor<?xf32>, tensor<3x?xf32>) {
  %i, %y = graph.while @going do @step consts(%n) carry(%n, %x) : (tensor<i64>, tensor<i64>, tensor<?xf32>) -> (tensor<i64>, tensor<?xf32>)
  %z = graph.case %n [@same, @neg](%y) : (tensor<i64>, tensor<?xf32>) -> (tensor<?xf32>)
  %a, %b = graph.for @add count 3 consts() carry(%z) over(%xs) : (tensor<?xf32>, tensor<3x?xf32>) -> (tensor<?xf32>, tensor<3x?xf32>)
  return %a, %b : tensor<?xf32>, tensor<3x?xf32>
}
