#pragma once

#include <stdint.h>

/* Creates a convolution whose kernel is larger than its input along z; returns the code, and the message in `text`. */
int from_c(char *text, int64_t bytes);
