#include "server/rpc/messages/tensor_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/server/rpc/requests.hpp"
#include "tests/server/rpc/shared_memory_file.hpp"

namespace znni::rpc {
namespace {

// Returns a request for 2x1x1 voxels whose data are `values` as typed integers.
inference::ModelInferRequest integers(const std::string& datatype, const std::vector<std::uint32_t>& values) {
  inference::ModelInferRequest request = twice_request({static_cast<std::int64_t>(values.size()), 1, 1});
  request.clear_raw_input_contents();
  request.mutable_inputs(0)->set_datatype(datatype);
  for (const std::uint32_t value : values) request.mutable_inputs(0)->mutable_contents()->add_uint_contents(value);
  return request;
}

TEST(TensorInput, RawBytesAreUsedInPlace) {
  const inference::ModelInferRequest request = twice_request();
  const InferRequest checked = *check_infer_request(request, twice_model());
  Bytes converted;
  const auto view = input_view(request, checked, {}, converted);
  ASSERT_TRUE(view);
  EXPECT_EQ(static_cast<const void*>(view->data()), request.raw_input_contents(0).data());
  EXPECT_EQ(view->size(), request.raw_input_contents(0).size());
  EXPECT_EQ(converted.size(), 0);
  EXPECT_EQ(converted_bytes(checked), 0);
}

TEST(TensorInput, TypedFloatsAreUsedInPlace) {
  inference::ModelInferRequest request = twice_request({2, 1, 1});
  request.clear_raw_input_contents();
  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1.5F);
  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(-2.5F);
  const InferRequest checked = *check_infer_request(request, twice_model());
  Bytes converted;
  const auto view = input_view(request, checked, {}, converted);
  ASSERT_EQ(view->size(), 8U);
  std::array<float, 2> values{};
  std::memcpy(values.data(), view->data(), 8);
  EXPECT_THAT(values, testing::ElementsAre(1.5F, -2.5F));
  EXPECT_EQ(converted_bytes(checked), 0);
}

TEST(TensorInput, TypedBytesAreNarrowed) {
  const inference::ModelInferRequest request = integers("UINT8", {0, 255, 7});
  const InferRequest checked = *check_infer_request(request, twice_model());
  Bytes converted;
  const auto view = input_view(request, checked, {}, converted);
  ASSERT_TRUE(view);
  EXPECT_EQ(converted_bytes(checked), 3);
  EXPECT_THAT(*view, testing::ElementsAre(std::byte{0}, std::byte{255}, std::byte{7}));
}

TEST(TensorInput, TypedShortsAreLittleEndian) {
  const inference::ModelInferRequest request = integers("UINT16", {0x0102, 65535});
  const InferRequest checked = *check_infer_request(request, twice_model());
  Bytes converted;
  const auto view = input_view(request, checked, {}, converted);
  ASSERT_TRUE(view);
  EXPECT_THAT(*view, testing::ElementsAre(std::byte{2}, std::byte{1}, std::byte{255}, std::byte{255}));
}

TEST(TensorInput, ValuesThatDoNotFitAreNamed) {
  const inference::ModelInferRequest request = integers("UINT8", {1, 256});
  const InferRequest checked = *check_infer_request(request, twice_model());
  Bytes converted;
  const auto view = input_view(request, checked, {}, converted);
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(view.error().message, "uint_contents[1] is 256, expected at most 255");
}

// Returns the floats.
std::vector<float> floats(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Returns a request for a batch of two, of 2x1x1 voxels each: "mask" is 10, 11, 12, 13, and "raw" is 0, 1, 2, 3.
inference::ModelInferRequest batch_of_two() {
  inference::ModelInferRequest request = masked_request({2, 1, 1});
  for (int i = 0; i < 2; ++i) {
    request.mutable_inputs(i)->set_shape(0, 2);
    const std::vector<float> values = i == 0 ? std::vector<float>{10, 11, 12, 13} : std::vector<float>{0, 1, 2, 3};
    request.set_raw_input_contents(i, std::string(reinterpret_cast<const char*>(values.data()), 16));
  }
  return request;
}

TEST(TensorInput, SeveralInputsAreChannelsOfEachJob) {
  const inference::ModelInferRequest request = batch_of_two();
  const InferRequest checked = *check_infer_request(request, masked_model());
  Bytes converted;
  const auto view = input_view(request, checked, {}, converted);
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_EQ(converted_bytes(checked), 32);
  EXPECT_THAT(floats(*view), testing::ElementsAre(0, 1, 10, 11, 2, 3, 12, 13));
}

TEST(TensorInput, SeveralInputsThatAreTyped) {
  inference::ModelInferRequest request = batch_of_two();
  request.clear_raw_input_contents();
  for (int i = 0; i < 2; ++i) {
    request.mutable_inputs(i)->set_datatype("UINT16");
    for (std::uint32_t j = 0; j < 4; ++j) {
      request.mutable_inputs(i)->mutable_contents()->add_uint_contents(j + (i == 0 ? 10 : 0));
    }
  }
  const InferRequest checked = *check_infer_request(request, masked_model());
  Bytes converted;
  const auto view = input_view(request, checked, {}, converted);
  ASSERT_TRUE(view) << view.error().message;
  std::vector<std::uint16_t> values(8);
  ASSERT_EQ(view->size(), 16U);
  std::memcpy(values.data(), view->data(), 16);
  EXPECT_THAT(values, testing::ElementsAre(0, 1, 10, 11, 2, 3, 12, 13));
  request.mutable_inputs(0)->mutable_contents()->set_uint_contents(3, 65536);
  EXPECT_EQ(input_view(request, checked, {}, converted).error().message,
            "input 'mask': uint_contents[3] is 65536, expected at most 65535");
}

TEST(TensorInput, AnInputMayBeInSharedMemoryAndAnotherInTheMessage) {
  const SharedMemoryFile memory(64);
  memory.write(8, batch_of_two().raw_input_contents(1));
  inference::ModelInferRequest request = batch_of_two();
  request.mutable_raw_input_contents()->RemoveLast();
  auto& parameters = *request.mutable_inputs(1)->mutable_parameters();
  parameters["shared_memory_region"].set_string_param("r");
  parameters["shared_memory_offset"].set_int64_param(8);
  parameters["shared_memory_byte_size"].set_int64_param(16);
  const InferRequest checked = *check_infer_request(request, masked_model());
  const std::vector<RegionHandle> regions = {*SharedRegion::open(memory.key(), 0, memory.bytes()), nullptr};
  Bytes converted;
  const auto view = input_view(request, checked, regions, converted);
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_THAT(floats(*view), testing::ElementsAre(0, 1, 10, 11, 2, 3, 12, 13));
}

}  // namespace
}  // namespace znni::rpc
