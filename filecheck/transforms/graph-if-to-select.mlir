// RUN: lamina-opt %s -p 'graph-if-to-select{limit=64}' --verify-each --validate-each | filecheck %s

func.func private @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @root(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.sqrt %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @if
//       CHECK:   %[[Y:.*]] = graph.add %x, %x
//       CHECK:   %[[NOT:.*]] = graph.not %p
//       CHECK:   %[[SPREAD:.*]] = graph.broadcast %[[NOT]] to [] : tensor<i1> -> tensor<4xi1>
//       CHECK:   graph.select %[[SPREAD]], %x, %[[Y]]
func.func @if(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.case %p [@same, @twice](%x) : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

/// An index below 0 is the first, one past the end the last.
// CHECK-LABEL: func.func @switch
//       CHECK:   graph.cmp le %k
//       CHECK:   graph.select
//       CHECK:   graph.cmp le %k
//       CHECK:   graph.select
func.func @switch(%k: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.case %k [@same, @twice, @root](%x) : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

/// Integers are safe: what is divided by 0 is 0.
func.func private @halves(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %q = graph.div %x, %y : tensor<4xi32>
  return %q : tensor<4xi32>
}
func.func private @left(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  return %x : tensor<4xi32>
}
// CHECK-LABEL: func.func @quotient
//       CHECK:   graph.div
//       CHECK:   graph.select
func.func @quotient(%p: tensor<i1>, %x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %z = graph.case %p [@left, @halves](%x, %y) : (tensor<i1>, tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>)
  return %z : tensor<4xi32>
}

/// Effects, what writes its own loops or reduces, and what costs more than the branch saves.
func.func private @told(%x: tensor<4xf32>) -> tensor<4xf32> {
  graph.print "{0}"(%x) : (tensor<4xf32>) -> ()
  return %x : tensor<4xf32>
}
// CHECK-LABEL: func.func @no_effects
//  CHECK-NEXT:   graph.case %p [@same, @told](%x)
func.func @no_effects(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.case %p [@same, @told](%x) : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}
func.func private @large(%x: tensor<100xf32>) -> tensor<100xf32> {
  %y = graph.add %x, %x : tensor<100xf32>
  return %y : tensor<100xf32>
}
func.func private @large_same(%x: tensor<100xf32>) -> tensor<100xf32> {
  return %x : tensor<100xf32>
}
// CHECK-LABEL: func.func @no_large
//  CHECK-NEXT:   graph.case
func.func @no_large(%p: tensor<i1>, %x: tensor<100xf32>) -> tensor<100xf32> {
  %y = graph.case %p [@large_same, @large](%x) : (tensor<i1>, tensor<100xf32>) -> (tensor<100xf32>)
  return %y : tensor<100xf32>
}
