#include "server/rpc/messages/request_parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni::rpc {
namespace {

using testing::HasSubstr;

class RequestParametersTest : public testing::Test {
 protected:
  inference::InferParameter& add(const std::string& key) { return (*request_.mutable_parameters())[key]; }
  [[nodiscard]] Result<RequestParameters> check() const { return check_request_parameters(request_.parameters()); }
  void expect_refused(const std::string& part) const {
    const Result<RequestParameters> checked = check();
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(checked.error().message, HasSubstr(part));
  }
  inference::ModelInferRequest request_;
};

TEST_F(RequestParametersTest, NoneGivesTheDefaults) {
  ASSERT_TRUE(check());
  EXPECT_EQ(check()->output_type, ElementType::f32);
  EXPECT_EQ(check()->timeout_us, 0);
}

TEST_F(RequestParametersTest, OutputDatatype) {
  add("output_datatype").set_string_param("UINT8");
  EXPECT_EQ(check()->output_type, ElementType::u8);
  add("output_datatype").set_string_param("INT4");
  expect_refused("'INT4'");
  add("output_datatype").set_int64_param(8);
  expect_refused("a string");
}

TEST_F(RequestParametersTest, TimeoutIsAnyInteger) {
  add("timeout").set_int64_param(1500);
  EXPECT_EQ(check()->timeout_us, 1500);
  add("timeout").set_uint64_param(2500);
  EXPECT_EQ(check()->timeout_us, 2500);
  add("timeout").set_uint64_param(~std::uint64_t{0});
  EXPECT_EQ(check()->timeout_us, saturated);
}

TEST_F(RequestParametersTest, TimeoutOfAnotherKindIsRefused) {
  add("timeout").set_string_param("1s");
  expect_refused("'timeout'");
  add("timeout").set_int64_param(-1);
  expect_refused("at least 0");
}

TEST_F(RequestParametersTest, PriorityIsANumberFromZero) {
  EXPECT_EQ(check()->priority, 0);
  add("priority").set_uint64_param(1);
  EXPECT_EQ(check()->priority, 1);
  add("priority").set_uint64_param(~std::uint64_t{0});
  EXPECT_GT(check()->priority, 1000);
  add("priority").set_int64_param(-1);
  expect_refused("at least 0");
  add("priority").set_bool_param(true);
  expect_refused("'priority'");
}

TEST_F(RequestParametersTest, UnknownOnesAreTolerated) {
  add("colour").set_string_param("blue");
  add("sequence_id").set_int64_param(0);
  EXPECT_TRUE(check());
}

TEST_F(RequestParametersTest, WhatEveryStockClientSendsIsTolerated) {
  add("triton_enable_empty_final_response").set_bool_param(true);
  EXPECT_TRUE(check());
  add("triton_enable_empty_final_response").set_int64_param(1);
  expect_refused("a bool");
}

TEST_F(RequestParametersTest, ReservedOnesAreRefused) {
  add("triton_secret").set_bool_param(true);
  expect_refused("'triton_secret'");
}

TEST_F(RequestParametersTest, ATensorMayBeInSharedMemory) {
  add("shared_memory_region").set_string_param("region");
  add("shared_memory_byte_size").set_int64_param(480);
  EXPECT_EQ(*check_tensor_parameters(request_.parameters(), ""), (RegionRange{"region", 0, 480}));
  add("shared_memory_offset").set_int64_param(8);
  EXPECT_EQ(*check_tensor_parameters(request_.parameters(), ""), (RegionRange{"region", 8, 480}));
}

TEST_F(RequestParametersTest, PlacesInSharedMemoryMakeSense) {
  const auto refused = [this](const std::string& part) {
    const auto checked = check_tensor_parameters(request_.parameters(), "input 'raw'");
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(checked.error().message, HasSubstr("input 'raw'"));
    EXPECT_THAT(checked.error().message, HasSubstr(part));
  };
  add("shared_memory_offset").set_int64_param(8);
  refused("without 'shared_memory_region'");
  add("shared_memory_region").set_bool_param(true);
  refused("a string");
  add("shared_memory_region").set_string_param("region");
  refused("shared_memory_byte_size");
  add("shared_memory_byte_size").set_int64_param(0);
  refused("at least 1");
  add("shared_memory_byte_size").set_int64_param(4);
  add("shared_memory_offset").set_int64_param(-1);
  refused("at least 0");
}

TEST_F(RequestParametersTest, ClassificationIsNotOffered) {
  add("classification").set_int64_param(3);
  EXPECT_EQ(check_tensor_parameters(request_.parameters(), "output 'p'").error().code, ErrorCode::unsupported);
}

TEST_F(RequestParametersTest, OtherTensorParametersAreTolerated) {
  add("binary_data_size").set_int64_param(3);
  EXPECT_TRUE(check_tensor_parameters(request_.parameters(), "output 'p'"));
}

}  // namespace
}  // namespace znni::rpc
