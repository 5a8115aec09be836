// RUN: lamina-opt %s -p graph-gram | filecheck %s

/// A product of a matrix and its own transpose: bands of rows up to the diagonal, the rest mirrored.
// CHECK-LABEL: @gram
//       CHECK:   graph.dot %{{.*}}, %{{.*}} contract [0] with [0] : (tensor<1024x128xf32>, tensor<1024x128xf32>) -> tensor<128x128xf32>
//       CHECK:   graph.dot %{{.*}}, %{{.*}} contract [0] with [0] : (tensor<1024x128xf32>, tensor<1024x256xf32>) -> tensor<128x256xf32>
//       CHECK:   graph.dot %{{.*}}, %{{.*}} contract [0] with [0] : (tensor<1024x44xf32>, tensor<1024x300xf32>) -> tensor<44x300xf32>
//       CHECK:   %[[BELOW:.*]] = graph.cmp ge
//       CHECK:   graph.select %[[BELOW]], %{{.*}}, %{{.*}} : (tensor<128x128xi1>, tensor<128x128xf32>
//       CHECK:   %[[FIRST:.*]] = graph.concat %{{.*}}, %{{.*}}, %{{.*}} along 1 : {{.*}} -> tensor<128x300xf32>
//       CHECK:   %[[LAST:.*]] = graph.concat %{{.*}}, %{{.*}} along 1 : {{.*}} -> tensor<44x300xf32>
//       CHECK:   graph.concat %[[FIRST]], %{{.*}}, %[[LAST]] along 0
func.func @gram(%x: tensor<1024x300xf32>) -> tensor<300x300xf32> {
  %y = graph.dot %x, %x contract [0] with [0] : (tensor<1024x300xf32>, tensor<1024x300xf32>) -> tensor<300x300xf32>
  return %y : tensor<300x300xf32>
}

/// Of two matrices, or of a matrix and itself as it is, nothing is known to be symmetric.
// CHECK-LABEL: @no_gram_of_two
//  CHECK-NEXT:   graph.dot %x, %z
func.func @no_gram_of_two(%x: tensor<1024x300xf32>, %z: tensor<1024x300xf32>) -> tensor<300x300xf32> {
  %y = graph.dot %x, %z contract [0] with [0] : (tensor<1024x300xf32>, tensor<1024x300xf32>) -> tensor<300x300xf32>
  return %y : tensor<300x300xf32>
}

// CHECK-LABEL: @no_gram_of_a_square
//  CHECK-NEXT:   graph.dot %x, %x contract [1] with [0]
func.func @no_gram_of_a_square(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %y = graph.dot %x, %x contract [1] with [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %y : tensor<512x512xf32>
}

/// Few multiplications are not worth several kernels.
// CHECK-LABEL: @no_gram_of_few
//  CHECK-NEXT:   graph.dot %x, %x
func.func @no_gram_of_few(%x: tensor<100x300xf32>) -> tensor<300x300xf32> {
  %y = graph.dot %x, %x contract [0] with [0] : (tensor<100x300xf32>, tensor<100x300xf32>) -> tensor<300x300xf32>
  return %y : tensor<300x300xf32>
}
