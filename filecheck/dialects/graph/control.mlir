// RUN: lamina-opt %s | lamina-opt | filecheck %s --check-prefix=SYNTAX
// RUN: lamina-opt %s --compile-to=program | filecheck %s --check-prefix=PROGRAM
// RUN: lamina-opt %s --compile-to=program | lamina-opt --verify-each | filecheck %s --check-prefix=PROGRAM

/// A loop is a call that is repeated: the body is a host function. Its carried values alternate between two buffers, or stay in
/// one where the body can write a value over what it was.

func.func private @step(%i: tensor<i64>, %w: tensor<4x4xf32>, %h: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %0 = graph.dot %w, %h contract [1] with [0] : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.add %0, %x : tensor<4xf32>
  %s = graph.reduce add %1 over [0] : tensor<4xf32> -> tensor<f32>
  return %1, %s : tensor<4xf32>, tensor<f32>
}
// SYNTAX-LABEL: func.func @main
// SYNTAX: graph.for @step count 6 reverse consts(%w) carry(%h) over(%xs) : (tensor<4x4xf32>, tensor<4xf32>, tensor<6x4xf32>) -> (tensor<4xf32>, tensor<6xf32>)
// PROGRAM-LABEL: program.func private @step(%i: memref<i64>, %w: memref<4x4xf32>, %h: memref<4xf32>, %x: memref<4xf32>
// PROGRAM-LABEL: program.func @main
// PROGRAM: "memref.copy"(%h, %result0)
// PROGRAM: loop.repeat @step count 6 reverse index(%i) consts(%w) carry(%result0) spare(%h_1) over(%xs) into(%result1) arena(%{{.*}})
func.func @main(%w: tensor<4x4xf32>, %h: tensor<4xf32>, %xs: tensor<6x4xf32>) -> (tensor<4xf32>, tensor<6xf32>) {
  %y, %ys = graph.for @step count 6 reverse consts(%w) carry(%h) over(%xs)
      : (tensor<4x4xf32>, tensor<4xf32>, tensor<6x4xf32>) -> (tensor<4xf32>, tensor<6xf32>)
  return %y, %ys : tensor<4xf32>, tensor<6xf32>
}

func.func private @grow(%i: tensor<i64>, %h: tensor<4xf32>) -> tensor<4xf32> {
  %1 = graph.add %h, %h : tensor<4xf32>
  return %1 : tensor<4xf32>
}
// SYNTAX-LABEL: func.func @counted
// SYNTAX: graph.for @grow count %n consts() carry(%h) over() linear [0] : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>)
// PROGRAM-LABEL: program.func private @grow(%i: memref<i64>, %h: memref<4xf32>) -> (%result: memref<4xf32> over %h)
// PROGRAM-LABEL: program.func @counted
// PROGRAM: loop.repeat @grow count %n index(%i) consts() carry(%result) spare(%result) over() into() arena(%{{.*}})
func.func @counted(%n: tensor<i64>, %h: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.for @grow count %n consts() carry(%h) over() linear [0] : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>)
  return %y : tensor<4xf32>
}
