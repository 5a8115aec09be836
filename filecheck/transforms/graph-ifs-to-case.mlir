// RUN: lamina-opt %s -p 'graph-ifs-to-case' --verify-each --validate-each | filecheck %s

func.func private @a(%k: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func private @b(%k: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  %y = graph.neg %x : tensor<f32>
  return %y : tensor<f32>
}
func.func private @c(%k: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  %y = graph.exp %x : tensor<f32>
  return %y : tensor<f32>
}
func.func private @else(%k: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  %seven = graph.const dense<7> : tensor<i64>
  %p = graph.cmp eq %k, %seven : tensor<i64>
  %y = graph.case %p [@c, @b](%k, %x) : (tensor<i1>, tensor<i64>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

// CHECK-LABEL: func.func @chain
//       CHECK:   %[[SEVEN:.*]] = graph.const dense<7>
//       CHECK:   graph.cmp eq %k, %[[SEVEN]]
//       CHECK:   graph.select
//       CHECK:   %[[INDEX:\w+]] = graph.select
//       CHECK:   graph.case %[[INDEX]] [@{{a_of_value.*}}, @{{b_of_value.*}}, @{{c_of_value.*}}](%k, %x)
func.func @chain(%k: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  %three = graph.const dense<3> : tensor<i64>
  %p = graph.cmp eq %k, %three : tensor<i64>
  %y = graph.case %p [@else, @a](%k, %x) : (tensor<i1>, tensor<i64>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

/// `k != 3` has its branches the other way around.
// CHECK-LABEL: func.func @not_equal
//       CHECK:   graph.case %{{.*}} [@{{a_of_value.*}}, @{{b_of_value.*}}, @{{c_of_value.*}}]
func.func @not_equal(%k: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  %three = graph.const dense<3> : tensor<i64>
  %p = graph.cmp ne %three, %k : tensor<i64>
  %y = graph.case %p [@a, @else](%k, %x) : (tensor<i1>, tensor<i64>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}

/// Another value is compared further on, or the value with one that is no constant, or there is but one condition.
// CHECK-LABEL: func.func @no_other_value
//       CHECK:   graph.case %p [@else, @a](%j, %x)
func.func @no_other_value(%k: tensor<i64>, %j: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  %three = graph.const dense<3> : tensor<i64>
  %p = graph.cmp eq %k, %three : tensor<i64>
  %y = graph.case %p [@else, @a](%j, %x) : (tensor<i1>, tensor<i64>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}
// CHECK-LABEL: func.func @no_order
//       CHECK:   graph.case %p [@else, @a](%k, %x)
func.func @no_order(%k: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  %three = graph.const dense<3> : tensor<i64>
  %p = graph.cmp lt %k, %three : tensor<i64>
  %y = graph.case %p [@else, @a](%k, %x) : (tensor<i1>, tensor<i64>, tensor<f32>) -> (tensor<f32>)
  return %y : tensor<f32>
}
