// The digit classifier of train.py, written by hand: a 64-128-10 network over a batch of 360 images of 8x8 pixels (0 to 16).
//
//   lamina-run examples/digits/predict.mlir --entry main \
//       --args examples/digits/out/images.npy examples/digits/out/weights.npz
//
// The arrays of weights.npz follow the images in their order in the file: b1, b2, w1, w2.

func.func @main(%images: tensor<360x64xf32>, %b1: tensor<128xf32>, %b2: tensor<10xf32>,
                %w1: tensor<64x128xf32>, %w2: tensor<128x10xf32>) -> tensor<360xi64> {
  %white = graph.const dense<1.600000e+01> : tensor<f32>
  %whites = graph.broadcast %white to [] : tensor<f32> -> tensor<360x64xf32>
  %x = graph.div %images, %whites : tensor<360x64xf32>

  %hidden = graph.dot %x, %w1 contract [1] with [0] : (tensor<360x64xf32>, tensor<64x128xf32>) -> tensor<360x128xf32>
  %bias1 = graph.broadcast %b1 to [1] : tensor<128xf32> -> tensor<360x128xf32>
  %sum1 = graph.add %hidden, %bias1 : tensor<360x128xf32>
  %active = graph.relu %sum1 : tensor<360x128xf32>

  %scores = graph.dot %active, %w2 contract [1] with [0] : (tensor<360x128xf32>, tensor<128x10xf32>) -> tensor<360x10xf32>
  %bias2 = graph.broadcast %b2 to [1] : tensor<10xf32> -> tensor<360x10xf32>
  %logits = graph.add %scores, %bias2 : tensor<360x10xf32>

  %digit = graph.argmax %logits along 1 : tensor<360x10xf32> -> tensor<360xi64>
  return %digit : tensor<360xi64>
}
