// RUN: lamina-opt %s -p 'graph-while-to-for' --verify-each | filecheck %s
// RUN: lamina-opt %s -p 'graph-while-to-for,graph-simplify,graph-dce' --verify-each --validate-each > /dev/null
// RUN: lamina-run %s --entry static --args iota:4xf32 --compare | filecheck %s --check-prefix=VALUE
// RUN: lamina-run %s --entry down --args 5 iota:4xf32 --compare | filecheck %s --check-prefix=VALUE
// VALUE: result 0: largest difference 0,

func.func private @below(%n: tensor<i64>, %i: tensor<i64>, %x: tensor<4xf32>) -> tensor<i1> {
  %c = graph.cmp lt %i, %n : tensor<i64>
  return %c : tensor<i1>
}
func.func private @up(%n: tensor<i64>, %i: tensor<i64>, %x: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  %one = graph.const dense<1> : tensor<i64>
  %y = graph.add %x, %x : tensor<4xf32>
  %j = graph.add %i, %one : tensor<i64>
  return %j, %y : tensor<i64>, tensor<4xf32>
}
func.func private @by_three(%n: tensor<i64>, %i: tensor<i64>, %x: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  %three = graph.const dense<3> : tensor<i64>
  %y = graph.add %x, %x : tensor<4xf32>
  %j = graph.add %three, %i : tensor<i64>
  return %j, %y : tensor<i64>, tensor<4xf32>
}

/// Constants on both sides: the count is a number, and so is what the integer is in the end.
// CHECK-LABEL: func.func @static
//       CHECK:   graph.for @up_counted count 5 consts({{.*}}) carry(%x) over()
func.func @static(%x: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  %z = graph.const dense<2> : tensor<i64>
  %n = graph.const dense<7> : tensor<i64>
  %i, %y = graph.while @below do @up consts(%n) carry(%z, %x)
      : (tensor<i64>, tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
  return %i, %y : tensor<i64>, tensor<4xf32>
}

/// The last step goes past the bound: 0, 3, 6 are below 7.
// CHECK-LABEL: func.func @steps
//       CHECK:   graph.for @by_three_counted count 3
func.func @steps(%x: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  %z = graph.const dense<0> : tensor<i64>
  %n = graph.const dense<7> : tensor<i64>
  %i, %y = graph.while @below do @by_three consts(%n) carry(%z, %x)
      : (tensor<i64>, tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
  return %i, %y : tensor<i64>, tensor<4xf32>
}

/// A bound that is computed: the count is, too.
// CHECK-LABEL: func.func @dynamic
//       CHECK:   %[[LESS:.*]] = graph.cmp lt %z, %n : tensor<i64>
//       CHECK:   %[[DISTANCE:.*]] = graph.sub %n, %z : tensor<i64>
//       CHECK:   %[[COUNT:.*]] = graph.select %[[LESS]], %[[DISTANCE]]
//       CHECK:   graph.for @up_counted{{.*}} count %[[COUNT]] consts
func.func @dynamic(%n: tensor<i64>, %x: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  %z = graph.const dense<0> : tensor<i64>
  %i, %y = graph.while @below do @up consts(%n) carry(%z, %x)
      : (tensor<i64>, tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
  return %i, %y : tensor<i64>, tensor<4xf32>
}

/// Downwards, from a number that is computed: 32 bits have room in 64.
func.func private @positive(%z: tensor<i32>, %i: tensor<i32>, %x: tensor<4xf32>) -> tensor<i1> {
  %c = graph.cmp lt %z, %i : tensor<i32>
  return %c : tensor<i1>
}
func.func private @down_one(%z: tensor<i32>, %i: tensor<i32>, %x: tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
  %one = graph.const dense<1> : tensor<i32>
  %y = graph.add %x, %x : tensor<4xf32>
  %j = graph.sub %i, %one : tensor<i32>
  return %j, %y : tensor<i32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @down
//       CHECK:   graph.convert %n : tensor<i32> -> tensor<i64>
//       CHECK:   graph.for @down_one_counted count %{{.*}} consts
func.func @down(%n: tensor<i32>, %x: tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
  %z = graph.const dense<0> : tensor<i32>
  %i, %y = graph.while @positive do @down_one consts(%z) carry(%n, %x)
      : (tensor<i32>, tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  return %i, %y : tensor<i32>, tensor<4xf32>
}

/// A loop that ends at once.
// CHECK-LABEL: func.func @never
//       CHECK:   graph.for @up_counted{{.*}} count 0
func.func @never(%x: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  %z = graph.const dense<9> : tensor<i64>
  %n = graph.const dense<7> : tensor<i64>
  %i, %y = graph.while @below do @up consts(%n) carry(%z, %x)
      : (tensor<i64>, tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
  return %i, %y : tensor<i64>, tensor<4xf32>
}

/// 120, 123, 126 and then past the end of 8 bits, where it is below 127 again.
func.func private @below_8(%n: tensor<i8>, %i: tensor<i8>) -> tensor<i1> {
  %c = graph.cmp lt %i, %n : tensor<i8>
  return %c : tensor<i1>
}
func.func private @by_three_8(%n: tensor<i8>, %i: tensor<i8>) -> tensor<i8> {
  %three = graph.const dense<3> : tensor<i8>
  %j = graph.add %i, %three : tensor<i8>
  return %j : tensor<i8>
}
// CHECK-LABEL: func.func @no_wrapping
//       CHECK:   graph.while
func.func @no_wrapping() -> tensor<i8> {
  %z = graph.const dense<120> : tensor<i8>
  %n = graph.const dense<127> : tensor<i8>
  %i = graph.while @below_8 do @by_three_8 consts(%n) carry(%z) : (tensor<i8>, tensor<i8>) -> (tensor<i8>)
  return %i : tensor<i8>
}

/// The bound changes, or the condition asks for more.
func.func private @below_other(%i: tensor<i64>, %n: tensor<i64>) -> tensor<i1> {
  %c = graph.cmp lt %i, %n : tensor<i64>
  return %c : tensor<i1>
}
func.func private @both(%i: tensor<i64>, %n: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  %two = graph.const dense<2> : tensor<i64>
  %one = graph.const dense<1> : tensor<i64>
  %j = graph.add %i, %two : tensor<i64>
  %m = graph.add %n, %one : tensor<i64>
  return %j, %m : tensor<i64>, tensor<i64>
}
// CHECK-LABEL: func.func @no_bound
//       CHECK:   graph.while
func.func @no_bound(%n: tensor<i64>) -> tensor<i64> {
  %z = graph.const dense<0> : tensor<i64>
  %i, %m = graph.while @below_other do @both consts() carry(%z, %n) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  return %i : tensor<i64>
}
