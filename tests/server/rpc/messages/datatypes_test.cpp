#include "server/rpc/messages/datatypes.hpp"

#include <gtest/gtest.h>

namespace znni::rpc {
namespace {

TEST(Datatypes, NamesRoundTrip) {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::u16, ElementType::u8}) {
    EXPECT_EQ(element_type(datatype(type)), type);
  }
}

TEST(Datatypes, OthersAreUnknown) {
  for (const char* name : {"", "fp32", "FP64", "INT8", "BF16", "BYTES", "FP32 "}) {
    EXPECT_EQ(element_type(name), std::nullopt) << name;
  }
}

TEST(Datatypes, OutputIsFloatUnlessAskedOtherwise) {
  EXPECT_EQ(*output_type(""), ElementType::f32);
  EXPECT_EQ(*output_type("FP16"), ElementType::f16);
  EXPECT_EQ(*output_type("UINT8"), ElementType::u8);
}

TEST(Datatypes, OutputErrorNamesWhatWasFoundAndWhatIsPossible) {
  const Result<ElementType> type = output_type("UINT16");
  ASSERT_FALSE(type);
  EXPECT_EQ(type.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(type.error().message, "output_datatype is 'UINT16', expected FP32, FP16 or UINT8");
}

TEST(Datatypes, NumbersOfChannelsNeedATypeThatHoldsThem) {
  for (const auto& [largest, types] : {std::pair<std::int64_t, std::string>{0, "FP32,FP16,UINT8"},
                                       {1, "FP32,FP16"},
                                       {2048, "FP32,FP16"},
                                       {2049, "FP32"}}) {
    EXPECT_EQ(types_that_hold(largest), types);
    for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::u8}) {
      const bool holds = types.find(datatype(type)) != std::string::npos;
      EXPECT_EQ(check_holds_numbers(type, largest).has_value(), holds) << datatype(type) << " of " << largest;
    }
  }
}

}  // namespace
}  // namespace znni::rpc
