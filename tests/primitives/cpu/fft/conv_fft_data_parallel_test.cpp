#include "tests/primitives/cpu/fft/conv_fft_whole.hpp"

namespace znni::cpu {

extern const Primitive conv_fft_data_parallel;

namespace {

class DataParallelWorkers : public testing::TestWithParam<int> {};

TEST_P(DataParallelWorkers, RandomConvolutionsAgreeWithTheOracle) {
  expect_random_convolutions_right(conv_fft_data_parallel, GetParam());
}

TEST_P(DataParallelWorkers, EdgesAgreeWithTheOracle) { expect_edges_right(conv_fft_data_parallel, GetParam()); }

INSTANTIATE_TEST_SUITE_P(ConvFftDataParallel, DataParallelWorkers, testing::Values(1, 2, 3));

TEST(ConvFftDataParallel, NumberOfWorkersDoesNotChangeABit) { expect_workers_change_no_bit(conv_fft_data_parallel); }
TEST(ConvFftDataParallel, RefusesWhatIsNoConvolution) { expect_refuses_what_is_no_convolution(conv_fft_data_parallel); }
TEST(ConvFftDataParallel, RefusesStrides) { expect_refuses_strides(conv_fft_data_parallel); }
TEST(ConvFftDataParallel, OffersOneFormOnPlanarTensors) { expect_one_form_on_planar_tensors(conv_fft_data_parallel); }

}  // namespace
}  // namespace znni::cpu
