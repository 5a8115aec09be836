/* Classifies three points; no function of the object allocates, so all memory is the program's. */
#include <stdio.h>
#include <stdlib.h>

#include "classifier.h"

int main(void) {
  const float points[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, -1, 1}};
  float probabilities[3][3];

  int64_t bytes = classifier_arena_size(3);
  void *arena = aligned_alloc(64, (size_t)bytes + 64); /* a multiple of 64, and not of size 0 */
  int status = classifier(&points[0][0], &probabilities[0][0], 3, arena, bytes);
  free(arena);
  if (status != CLASSIFIER_OK) {
    fprintf(stderr, "classifier: %s\n", classifier_strerror(status));
    return 1;
  }
  for (int i = 0; i < 3; i++) printf("%.4f %.4f %.4f\n", probabilities[i][0], probabilities[i][1], probabilities[i][2]);
  return 0;
}
