/* libznni_conv.so: valid 3D convolutions and their gradients on the CPU, in plain C.
 *
 * Tensors are float32, contiguous, [batch][channels][z][y][x], and weights [out][in][z][y][x]; they may begin at any
 * address of a float. Strides and dilations are 1, there are no groups. The convolution is a cross-correlation, as in
 * ONNX and PyTorch. All pointers are borrowed for the call alone. In C++, include this file within extern "C".
 *
 * How each work is computed is planned for one shape, when a convolution is made, by predicted time under a limit of
 * memory. What a work holds beside the caller's tensors lies in its workspace, whose size is known from then on. The
 * library holds little else: the plans, some numbers for each channel and, in some ways of computing, some megabytes
 * while a run transforms the kernels.
 *
 * No call may run in another thread while the process forks: the child would find locks that stay locked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Rises when anything below changes. */
enum { ZNNI_CONV_INTERFACE = 1 };

/* What functions return. */
enum {
  ZNNI_CONV_OK = 0,
  ZNNI_CONV_INVALID = 1,     /* an argument is wrong */
  ZNNI_CONV_OVER_BUDGET = 2, /* no way to compute it fits the limit of memory */
  ZNNI_CONV_FAILED = 3,      /* anything else, such as too little memory for the plan itself */
};

/* The works of a convolution. */
enum {
  ZNNI_CONV_FORWARD = 0,
  ZNNI_CONV_INPUT_GRADIENT = 1,
  ZNNI_CONV_WEIGHT_GRADIENT = 2,
};

struct znni_conv_shape {
  int64_t batch;
  int64_t in_channels;
  int64_t out_channels;
  int64_t input[3];  /* voxels along z, y, x */
  int64_t kernel[3]; /* not larger than the input, whose extent less the kernel's and plus one is the output's */
};

/* Room for one line that says what is wrong and what is right, ended by 0; cut off where it is too short. Written only
 * by a call that fails; text may be NULL. */
struct znni_conv_message {
  char *text;
  size_t bytes;
};

/* A convolution of one shape. */
struct znni_conv;

/* Returns ZNNI_CONV_INTERFACE of the library. */
int znni_conv_interface(void);

/* Plans all works for a number of threads, each within `mem` bytes of workspace; 0: 0.4 of the memory that is free now,
 * in its control groups, too. Writes the convolution to `made`, or NULL if it fails. Convolutions with equal numbers of
 * threads share the threads, which are not pinned. */
int znni_conv_create(const struct znni_conv_shape *shape, int threads, int64_t mem, struct znni_conv **made,
                     struct znni_conv_message message);

/* Frees it. Does nothing for NULL, and in a process that was forked since. */
void znni_conv_destroy(struct znni_conv *conv);

/* Returns the bytes of the workspace that a work needs; 0: none; -1 if an argument is wrong. */
int64_t znni_conv_workspace_bytes(const struct znni_conv *conv, int work);

/* Writes how a work is computed into `text`, ended by 0: the names of primitives in order, joined by ", ". Cut off
 * where it is too short. */
int znni_conv_describe(const struct znni_conv *conv, int work, struct znni_conv_message text);

/* The calls that compute. `workspace` has the bytes of its work, and begins at a multiple of 64; NULL if that is 0. Any
 * thread may call them: those of convolutions with equal numbers of threads take turns. They fail in a process that was
 * forked since the convolution was made. What is written must not overlap what is read. Equal arguments give equal
 * bits. */

/* Writes output[batch][out]. `bias` has [out] elements; NULL: zeros. */
int znni_conv_forward(const struct znni_conv *conv, const float *input, const float *weight, const float *bias,
                      float *output, void *workspace, struct znni_conv_message message);

/* Writes the gradient by the input, given that by the output. */
int znni_conv_input_gradient(const struct znni_conv *conv, const float *output_gradient, const float *weight,
                             float *input_gradient, void *workspace, struct znni_conv_message message);

/* Writes the gradients by weight and bias, given that by the output. */
int znni_conv_weight_gradient(const struct znni_conv *conv, const float *output_gradient, const float *input,
                              float *weight_gradient, float *bias_gradient, void *workspace,
                              struct znni_conv_message message);
