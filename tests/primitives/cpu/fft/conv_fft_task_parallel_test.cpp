#include "tests/primitives/cpu/fft/conv_fft_whole.hpp"

namespace znni::cpu {

extern const Primitive conv_fft_task_parallel;

namespace {

class TaskParallelWorkers : public testing::TestWithParam<int> {};

TEST_P(TaskParallelWorkers, RandomConvolutionsAgreeWithTheOracle) {
  expect_random_convolutions_right(conv_fft_task_parallel, GetParam());
}

TEST_P(TaskParallelWorkers, EdgesAgreeWithTheOracle) { expect_edges_right(conv_fft_task_parallel, GetParam()); }

INSTANTIATE_TEST_SUITE_P(ConvFftTaskParallel, TaskParallelWorkers, testing::Values(1, 2, 3));

TEST(ConvFftTaskParallel, NumberOfWorkersDoesNotChangeABit) { expect_workers_change_no_bit(conv_fft_task_parallel); }
TEST(ConvFftTaskParallel, RefusesWhatIsNoConvolution) { expect_refuses_what_is_no_convolution(conv_fft_task_parallel); }
TEST(ConvFftTaskParallel, RefusesStrides) { expect_refuses_strides(conv_fft_task_parallel); }
TEST(ConvFftTaskParallel, OffersOneFormOnPlanarTensors) { expect_one_form_on_planar_tensors(conv_fft_task_parallel); }

}  // namespace
}  // namespace znni::cpu
