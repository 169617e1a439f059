#include "server/rpc/messages/input_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/rpc/requests.hpp"

namespace znni::rpc {
namespace {

using inference::ModelInferRequest;
using testing::HasSubstr;

void expect_invalid(const ModelInferRequest& request, const std::string& part) {
  const Result<GivenInputs> checked = check_inputs(request, masked_model());
  ASSERT_FALSE(checked) << part;
  EXPECT_EQ(checked.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(checked.error().message, HasSubstr("model 'twice'"));
  EXPECT_THAT(checked.error().message, HasSubstr(part));
}

void set_region(ModelInferRequest& request, int input, std::int64_t bytes) {
  auto& parameters = *request.mutable_inputs(input)->mutable_parameters();
  parameters["shared_memory_region"].set_string_param("r");
  parameters["shared_memory_byte_size"].set_int64_param(bytes);
}

TEST(InputChecks, EachInputIsFoundByItsName) {
  const Result<GivenInputs> checked = check_inputs(masked_request(), masked_model());
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->volume, (VolumeShape{2, {6, 5, 4}, ElementType::f32, VolumeOrder::channel_major}));
  ASSERT_EQ(checked->inputs.size(), 2U);
  const GivenInput& raw = checked->inputs[0];
  const GivenInput& mask = checked->inputs[1];
  EXPECT_EQ(raw.name, "raw") << "the model's order";
  EXPECT_EQ(std::tuple(raw.first_channel, raw.channels, raw.tensor, raw.raw), std::tuple(0, 1, 1, 1));
  EXPECT_EQ(std::tuple(mask.first_channel, mask.channels, mask.tensor, mask.raw), std::tuple(1, 1, 0, 0));
}

TEST(InputChecks, AllInputsAreThereOnce) {
  ModelInferRequest request = twice_request();
  expect_invalid(request, "input 'mask' is missing; expected one tensor for each of the 2 inputs");
  request.clear_inputs();
  expect_invalid(request, "input 'raw' is missing");
  request = masked_request();
  request.mutable_inputs(0)->set_name("raw");
  expect_invalid(request, "input 'raw' found twice, expected once");
  request.mutable_inputs(0)->set_name("image");
  expect_invalid(request, "input 'image' found, expected 'raw' or 'mask'");
  request = masked_request();
  request.add_inputs()->set_name("mask");
  expect_invalid(request, "input 'mask' found twice");
}

TEST(InputChecks, AllInputsAreAlike) {
  ModelInferRequest request = masked_request();
  request.mutable_inputs(0)->set_shape(2, 7);
  expect_invalid(request,
                 "input 'mask': shape [1,1,7,5,4] found, expected batch and extents of [1,1,6,5,4] as input "
                 "'raw' has");
  request = masked_request();
  request.mutable_inputs(0)->set_shape(0, 2);
  expect_invalid(request, "input 'mask': shape [2,1,6,5,4] found, expected batch");
  request = masked_request();
  request.mutable_inputs(0)->set_shape(1, 2);
  expect_invalid(request, "input 'mask': shape [1,2,6,5,4] found, expected [N,1,Z,Y,X]");
  request = masked_request();
  request.mutable_inputs(0)->set_datatype("UINT8");
  expect_invalid(request, "input 'mask': datatype 'UINT8' found, expected 'FP32' as input 'raw' has");
  request.mutable_inputs(0)->set_datatype("BOOL");
  expect_invalid(request, "input 'mask': datatype 'BOOL' found");
}

TEST(InputChecks, ShapesWhoseSumOverflowsAreRefused) {
  ModelInferRequest request = masked_request();
  for (auto& input : *request.mutable_inputs()) {
    for (int axis = 2; axis < 5; ++axis) input.set_shape(axis, std::int64_t{1} << 31);
  }
  expect_invalid(request, "input 'raw'");
  for (auto& input : *request.mutable_inputs()) input.set_shape(0, saturated);
  expect_invalid(request, "input 'raw'");
}

TEST(InputChecks, EachInputHasTheBytesOfItsShape) {
  ModelInferRequest request = masked_request();
  request.mutable_raw_input_contents(0)->pop_back();
  expect_invalid(request, "input 'mask': 479 bytes found, expected 480");
  request = masked_request();
  *request.mutable_raw_input_contents(1) += "more";
  expect_invalid(request, "input 'raw': 484 bytes found, expected 480");
  request.mutable_raw_input_contents()->RemoveLast();
  expect_invalid(request, "1 raw_input_contents found, expected 2");
  request.clear_raw_input_contents();
  expect_invalid(request, "input 'raw': no data found");
  request = masked_request();
  request.add_raw_input_contents("");
  expect_invalid(request, "3 raw_input_contents found, expected 2");
  request = masked_request();
  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  expect_invalid(request, "input 'mask': both raw_input_contents and contents");
}

TEST(InputChecks, TypedContentsOfEach) {
  ModelInferRequest request = masked_request();
  request.clear_raw_input_contents();
  for (auto& input : *request.mutable_inputs()) input.mutable_contents()->mutable_fp32_contents()->Resize(120, 0.0F);
  const Result<GivenInputs> checked = check_inputs(request, masked_model());
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->inputs[0].raw, -1);
  request.mutable_inputs(1)->clear_contents();
  expect_invalid(request, "input 'raw': no data found");
}

// Inputs in shared memory have no raw contents.
TEST(InputChecks, SomeMayBeInSharedMemory) {
  ModelInferRequest request = masked_request();
  set_region(request, 0, 480);
  expect_invalid(request, "input 'raw': 2 raw_input_contents found, expected 1");
  request.mutable_raw_input_contents()->RemoveLast();
  Result<GivenInputs> checked = check_inputs(request, masked_model());
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->inputs[0].raw, 0);
  EXPECT_EQ(checked->inputs[1].raw, -1);
  EXPECT_EQ(checked->inputs[1].region, (RegionRange{"r", 0, 480}));
  set_region(request, 1, 480);
  expect_invalid(request, "input 'raw': both a shared memory region and contents found");
  request.clear_raw_input_contents();
  EXPECT_TRUE(check_inputs(request, masked_model()));
  set_region(request, 0, 481);
  expect_invalid(request, "input 'mask': 481 bytes in shared memory found, expected 480");
}

TEST(InputChecks, NamesForErrors) {
  EXPECT_EQ(names_of({{"a", 1}, {"b", 2}}), "'a' or 'b'");
  EXPECT_THAT(names_of(std::vector<NamedTensor>(1000, {"a", 1})), testing::EndsWith("'a' or another"));
}

}  // namespace
}  // namespace znni::rpc
