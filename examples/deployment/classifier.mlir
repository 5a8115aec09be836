// A classifier of batches of any size, with its weights: two layers, and the probability of each class.
builtin.module @classifier {
  func.func @main(%x: tensor<?x4xf32>) -> tensor<?x3xf32> {
    %w1 = graph.const dense<[[0.5, -1.0, 0.25, 1.0], [1.0, 0.5, -0.5, 0.75], [-0.25, 1.0, 0.5, -1.0], [0.5, 0.5, 1.0, 0.25]]> : tensor<4x4xf32>
    %w2 = graph.const dense<[[1.0, -0.5, 0.25], [0.5, 1.0, -1.0], [-0.75, 0.25, 1.0], [0.25, -1.0, 0.5]]> : tensor<4x3xf32>
    %h = graph.dot %x, %w1 contract [1] with [0] : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %a = graph.relu %h : tensor<?x4xf32>
    %z = graph.dot %a, %w2 contract [1] with [0] : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
    %p = graph.softmax %z over [1] : tensor<?x3xf32>
    return %p : tensor<?x3xf32>
  }
}
