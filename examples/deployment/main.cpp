// The same from C++, with the status as an exception and memory that grows with the largest batch so far.
#include <cstdio>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "classifier.h"

class Classifier {
 public:
  std::vector<float> operator()(const std::vector<float> &points) {
    const auto n = static_cast<int64_t>(points.size() / 4);
    const int64_t needed = classifier_arena_size(n);
    if (needed < 0) throw std::invalid_argument(classifier_strerror(static_cast<int>(-needed)));
    if (needed > size_) {
      arena_.reset(static_cast<std::byte *>(::operator new(static_cast<std::size_t>(needed), std::align_val_t{64})));
      size_ = needed;
    }
    std::vector<float> probabilities(static_cast<std::size_t>(n) * 3);
    const int status = classifier(points.data(), probabilities.data(), n, arena_.get(), size_);
    if (status != CLASSIFIER_OK) throw std::runtime_error(classifier_strerror(status));
    return probabilities;
  }

 private:
  struct Delete {
    void operator()(std::byte *memory) const { ::operator delete(memory, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte, Delete> arena_;
  int64_t size_ = 0;
};

int main() {
  Classifier classify;
  for (const float p : classify({1, 0, 0, 0, 0, 1, 0, 0, 1, 1, -1, 1})) std::printf("%.4f ", p);
  std::printf("%zu\n", classify({}).size());
  return 0;
}
