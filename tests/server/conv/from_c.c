/* The interface is C: this file is compiled as such. */
#include "tests/server/conv/from_c.h"

#include "server/conv/znni_conv.h"

int from_c(char *text, int64_t bytes) {
  const struct znni_conv_shape shape = {1, 2, 3, {4, 5, 6}, {5, 1, 1}};
  const struct znni_conv_message message = {text, (size_t)bytes};
  struct znni_conv *conv = NULL;
  return znni_conv_create(&shape, 1, 0, &conv, message);
}
