#include "server/rpc/messages/tensor_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/server/rpc/requests.hpp"

namespace znni::rpc {
namespace {

// A request for 2x1x1 voxels whose data are `values` as typed integers.
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
  const auto view = input_view(request, checked, converted);
  ASSERT_TRUE(view);
  EXPECT_EQ(static_cast<const void*>(view->data()), request.raw_input_contents(0).data());
  EXPECT_EQ(view->size(), request.raw_input_contents(0).size());
  EXPECT_EQ(converted.size(), 0);
  EXPECT_EQ(converted_bytes(request, checked), 0);
}

TEST(TensorInput, TypedFloatsAreUsedInPlace) {
  inference::ModelInferRequest request = twice_request({2, 1, 1});
  request.clear_raw_input_contents();
  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1.5F);
  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(-2.5F);
  const InferRequest checked = *check_infer_request(request, twice_model());
  Bytes converted;
  const auto view = input_view(request, checked, converted);
  ASSERT_EQ(view->size(), 8U);
  std::array<float, 2> values{};
  std::memcpy(values.data(), view->data(), 8);
  EXPECT_THAT(values, testing::ElementsAre(1.5F, -2.5F));
  EXPECT_EQ(converted_bytes(request, checked), 0);
}

TEST(TensorInput, TypedBytesAreNarrowed) {
  const inference::ModelInferRequest request = integers("UINT8", {0, 255, 7});
  const InferRequest checked = *check_infer_request(request, twice_model());
  Bytes converted;
  const auto view = input_view(request, checked, converted);
  ASSERT_TRUE(view);
  EXPECT_EQ(converted_bytes(request, checked), 3);
  EXPECT_THAT(*view, testing::ElementsAre(std::byte{0}, std::byte{255}, std::byte{7}));
}

TEST(TensorInput, TypedShortsAreLittleEndian) {
  const inference::ModelInferRequest request = integers("UINT16", {0x0102, 65535});
  const InferRequest checked = *check_infer_request(request, twice_model());
  Bytes converted;
  const auto view = input_view(request, checked, converted);
  ASSERT_TRUE(view);
  EXPECT_THAT(*view, testing::ElementsAre(std::byte{2}, std::byte{1}, std::byte{255}, std::byte{255}));
}

TEST(TensorInput, ValuesThatDoNotFitAreNamed) {
  const inference::ModelInferRequest request = integers("UINT8", {1, 256});
  const InferRequest checked = *check_infer_request(request, twice_model());
  Bytes converted;
  const auto view = input_view(request, checked, converted);
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(view.error().message, "uint_contents[1] is 256, expected at most 255");
}

}  // namespace
}  // namespace znni::rpc
