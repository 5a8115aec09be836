// RUN: lamina-opt %s -p graph-name-sizes --split-input-file | filecheck %s
// RUN: lamina-opt %s -p graph-name-sizes --split-input-file | lamina-opt --split-input-file | filecheck %s

/// Sizes that must be equal get one name; those of other values follow.
// CHECK-LABEL: func.func @main
//  CHECK-SAME:   (%x: tensor<?x4xf32, #graph.sizes<"N">>, %y: tensor<?x4xf32, #graph.sizes<"N">>, %z: tensor<?x4xf32, #graph.sizes<"M">>)
//  CHECK-NEXT:   graph.add {{.*}} : tensor<?x4xf32, #graph.sizes<"N">>
//  CHECK-NEXT:   graph.concat {{.*}} -> tensor<?x4xf32, #graph.sizes<"M + N">>
func.func @main(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>, %z: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %s = graph.add %x, %y : tensor<?x4xf32>
  %c = graph.concat %s, %z along 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %c : tensor<?x4xf32>
}

// -----

/// A size that must be a number is one.
// CHECK-LABEL: func.func @known(%x: tensor<4xf32>, %y: tensor<4x2xf32>) -> tensor<2xf32>
func.func @known(%x: tensor<?xf32>, %y: tensor<4x2xf32>) -> tensor<2xf32> {
  %z = graph.dot %x, %y contract [0] with [0] : (tensor<?xf32>, tensor<4x2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}

// -----

/// Known shapes, and sizes that have names, stay.
// CHECK-LABEL: func.func @no_open_size(%x: tensor<?xf32, #graph.sizes<"n where n in 1..8 by 2">>, %y: tensor<2xf32>)
//  CHECK-NEXT:   graph.slice %x start [0] stop ["n - 1 where n in 1..8 by 2"] step [1]
func.func @no_open_size(%x: tensor<?xf32, #graph.sizes<"n where n in 1..8 by 2">>, %y: tensor<2xf32>) -> tensor<?xf32, #graph.sizes<"n - 1 where n in 1..8 by 2">> {
  %s = graph.slice %x start [0] stop ["n - 1 where n in 1..8 by 2"] step [1] : tensor<?xf32, #graph.sizes<"n where n in 1..8 by 2">> -> tensor<?xf32, #graph.sizes<"n - 1 where n in 1..8 by 2">>
  return %s : tensor<?xf32, #graph.sizes<"n - 1 where n in 1..8 by 2">>
}

// -----

/// A slice needs as many rows as it takes: calls check that.
// CHECK-LABEL: func.func @rows(%x: tensor<?x4xf32, #graph.sizes<"N where N in 2..">>) -> tensor<2x4xf32>
func.func @rows(%x: tensor<?x4xf32>) -> tensor<2x4xf32> {
  %y = graph.slice %x start [0, 0] stop [2, 4] step [1, 1] : tensor<?x4xf32> -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

/// What is added to a concatenation is as long.
// CHECK-LABEL: func.func @joined
//  CHECK-SAME:   (%x: tensor<?x?xf32, #graph.sizes<"N", "M">>, %y: tensor<?x?xf32, #graph.sizes<"K", "M">>, %z: tensor<?x?xf32, #graph.sizes<"K + N", "M">>)
func.func @joined(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %z: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c = graph.concat %x, %y along 0 : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %s = graph.add %c, %z : tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}
