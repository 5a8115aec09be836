// RUN: lamina-opt %s -p graph-simplify,graph-dce --validate-each | filecheck %s --check-prefix=FOLD
// RUN: lamina-opt %s -p graph-dce --validate-each | filecheck %s --check-prefix=DCE
// RUN: lamina-opt %s -p graph-cse,graph-dce --validate-each | filecheck %s --check-prefix=CSE

func.func private @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @neg(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.neg %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

/// A case of a known index is that branch; past the end it is the last.
// FOLD-LABEL: func.func @known_index(
//  FOLD-SAME:   %x: tensor<4xf32>)
//  FOLD-NEXT:   %[[Y:.*]] = graph.neg %x
//  FOLD-NEXT:   func.return %[[Y]]
func.func @known_index(%x: tensor<4xf32>) -> tensor<4xf32> {
  %k = graph.const dense<7> : tensor<i64>
  %y = graph.case %k [@same, @neg](%x) : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

/// So is one of equal branches.
// FOLD-LABEL: func.func @equal_branches
//  FOLD-NEXT:   %[[Y:.*]] = graph.neg %x
//  FOLD-NEXT:   func.return %[[Y]]
func.func @equal_branches(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.case %p [@neg, @neg](%x) : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

// FOLD-LABEL: func.func @no_known_index
//  FOLD-NEXT:   graph.case %k [@same, @neg](%x)
func.func @no_known_index(%k: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.case %k [@same, @neg](%x) : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}

func.func private @going(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<i1> {
  %n = graph.const dense<3> : tensor<i64>
  %c = graph.cmp lt %i, %n : tensor<i64>
  return %c : tensor<i1>
}
func.func private @step(%i: tensor<i64>, %x: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  %one = graph.const dense<1> : tensor<i64>
  %j = graph.add %i, %one : tensor<i64>
  %y = graph.add %x, %x : tensor<4xf32>
  return %j, %y : tensor<i64>, tensor<4xf32>
}

/// A condition that does not hold at once: nothing runs.
// FOLD-LABEL: func.func @false_at_once
//  FOLD-NEXT:   func.return %x
func.func @false_at_once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %i = graph.const dense<3> : tensor<i64>
  %j, %y = graph.while @going do @step consts() carry(%i, %x) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
  return %y : tensor<4xf32>
}

/// What only the body makes of a carried value that nobody wants is not computed.
// DCE-LABEL: func.func private @going_1(%i: tensor<i64>) -> tensor<i1>
// DCE-LABEL: func.func private @step_1(%i: tensor<i64>) -> tensor<i64>
//   DCE-NOT:   graph.add %x
// DCE-LABEL: func.func @unused_carry
//       DCE:   %j = graph.while @going_1 do @step_1 consts() carry(%i) : (tensor<i64>) -> (tensor<i64>)
// FOLD-LABEL: func.func @unused_carry
//       FOLD:   graph.while
func.func @unused_carry(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<i64> {
  %j, %y = graph.while @going do @step consts() carry(%i, %x) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
  return %j : tensor<i64>
}

// DCE-LABEL: func.func @no_unused_carry
//       DCE:   graph.while @going do @step consts() carry(%i, %x)
func.func @no_unused_carry(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %j, %y = graph.while @going do @step consts() carry(%i, %x) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
  return %y : tensor<4xf32>
}

func.func private @accumulate(%i: tensor<i64>, %c: tensor<f32>, %h: tensor<4xf32>, %w: tensor<4xf32>, %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = graph.mul %h, %w : tensor<4xf32>
  %b = graph.add %a, %x : tensor<4xf32>
  return %b, %w, %a, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

/// A carried value that never changes is a const, and its result what it was; unused stacks and consts go.
// DCE-LABEL: func.func private @accumulate_2(%i: tensor<i64>, %w: tensor<4xf32>, %h: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// DCE-LABEL: func.func @never_changes
//       DCE:   %[[H:.*]], %[[A:.*]] = graph.for @accumulate_2 count 5 consts(%w) carry(%h) over(%xs) : (tensor<4xf32>, tensor<4xf32>, tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>)
//       DCE:   func.return %[[H]], %w, %[[A]]
func.func @never_changes(%c: tensor<f32>, %h: tensor<4xf32>, %w: tensor<4xf32>, %xs: tensor<5x4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<5x4xf32>) {
  %0, %1, %2, %3 = graph.for @accumulate count 5 consts(%c) carry(%h, %w) over(%xs)
      : (tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<5x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<5x4xf32>, tensor<5x4xf32>)
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<5x4xf32>
}

/// One iteration is the body.
// FOLD-LABEL: func.func @one_iteration
//   FOLD-NOT:   graph.for
//       FOLD:   graph.mul %h, %w
func.func @one_iteration(%c: tensor<f32>, %h: tensor<4xf32>, %w: tensor<4xf32>, %xs: tensor<1x4xf32>) -> (tensor<4xf32>, tensor<1x4xf32>) {
  %0, %1, %2, %3 = graph.for @accumulate count 1 consts(%c) carry(%h, %w) over(%xs)
      : (tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<1x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
  return %0, %2 : tensor<4xf32>, tensor<1x4xf32>
}

func.func private @both(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %n = graph.neg %y : tensor<4xf32>
  return %x, %n : tensor<4xf32>, tensor<4xf32>
}

/// Of a case that is used in part, branches compute that part.
// DCE-LABEL: func.func @unused_result
//       DCE:   graph.case %p [@both_1, @both_1](%x) : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>)
func.func @unused_result(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a, %b = graph.case %p [@both, @both](%x, %y) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %a : tensor<4xf32>
}

/// Equal loops are one.
// CSE-LABEL: func.func @equal_loops
//       CSE:   graph.while
//   CSE-NOT:   graph.while
//       CSE:   func.return
func.func @equal_loops(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %j, %y = graph.while @going do @step consts() carry(%i, %x) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
  %k, %z = graph.while @going do @step consts() carry(%i, %x) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
  %s = graph.mul %y, %z : tensor<4xf32>
  return %s : tensor<4xf32>
}
