// RUN: lamina-opt %s -p graph-split-complex --split-input-file | filecheck %s

/// Arguments and results are memory of pairs.
// CHECK-LABEL: @product(%x: tensor<4xcomplex<f32>>, %y: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
//       CHECK:   graph.as_pairs %x : tensor<4xcomplex<f32>> -> tensor<4x2xf32>
//       CHECK:   graph.mul {{.*}} : tensor<4xf32>
//       CHECK:   %[[RE:.*]] = graph.sub {{.*}} : tensor<4xf32>
//       CHECK:   %[[IM:.*]] = graph.add {{.*}} : tensor<4xf32>
//  CHECK-NEXT:   %[[P:.*]] = graph.interleave %[[RE]], %[[IM]]
//  CHECK-NEXT:   %[[Z:.*]] = graph.from_pairs %[[P]]
//  CHECK-NEXT:   return %[[Z]]
func.func @product(%x: tensor<4xcomplex<f32>>, %y: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = graph.mul %x, %y : tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

/// Real numbers stay as they are.
// CHECK-LABEL: @no_complex
//  CHECK-NEXT:   %0 = graph.mul %x, %x : tensor<4xf32>
//  CHECK-NEXT:   return %0
func.func @no_complex(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.mul %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

/// A factorization takes planes.
// CHECK-LABEL: @factors
//       CHECK:   %[[Y:.*]], %[[P:.*]], %[[I:.*]] = graph.lu %{{.*}}, %{{.*}} : (tensor<3x3xf32>, tensor<3x3xf32>)
//  CHECK-NEXT:   graph.interleave %[[Y]], %[[I]]
func.func @factors(%x: tensor<3x3xcomplex<f32>>) -> (tensor<3x3xcomplex<f32>>, tensor<3xi32>) {
  %0, %1 = graph.lu %x : tensor<3x3xcomplex<f32>> -> (tensor<3x3xcomplex<f32>>, tensor<3xi32>)
  return %0, %1 : tensor<3x3xcomplex<f32>>, tensor<3xi32>
}

// -----

/// The body of a loop takes and returns pairs.
// CHECK-LABEL: @turn(%i: tensor<i64>, %z: tensor<4x2xf64>) -> tensor<4x2xf64>
// CHECK-LABEL: @main
//       CHECK:   graph.for @turn {{.*}}tensor<4x2xf64>
func.func private @turn(%i: tensor<i64>, %z: tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>> {
  %0 = graph.mul %z, %z : tensor<4xcomplex<f64>>
  return %0 : tensor<4xcomplex<f64>>
}
func.func @main(%z: tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>> {
  %0 = graph.for @turn count 3 consts() carry(%z) over() : (tensor<4xcomplex<f64>>) -> (tensor<4xcomplex<f64>>)
  return %0 : tensor<4xcomplex<f64>>
}

// -----

/// A transform is made of passes; a long one of two halves.
// CHECK-LABEL: @transform
//       CHECK:   graph.butterflies {{.*}} radices [8, 8] forward
// CHECK-LABEL: @long
//       CHECK:   graph.butterflies {{.*}} parts twist 16 : (tensor<1x256x256xf32>
//       CHECK:   graph.transpose
//       CHECK:   graph.butterflies {{.*}} pairs twist 0 : (tensor<1x512x256xf32>
func.func @transform(%z: tensor<64xcomplex<f32>>) -> tensor<64xcomplex<f32>> {
  %0 = graph.fft %z along 0 forward : tensor<64xcomplex<f32>>
  return %0 : tensor<64xcomplex<f32>>
}
func.func @long(%z: tensor<65536xcomplex<f32>>) -> tensor<65536xcomplex<f32>> {
  %0 = graph.fft %z along 0 forward : tensor<65536xcomplex<f32>>
  return %0 : tensor<65536xcomplex<f32>>
}
