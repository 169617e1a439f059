#include "server/rpc/messages/message_size.hpp"

#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/struct.pb.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "proto/inference.pb.h"
#include "proto/volumes.pb.h"
#include "tests/support/random.hpp"

namespace znni::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::io::ArrayInputStream;
using inference::ModelInferRequest;
using test::Random;

constexpr std::int64_t plenty = std::numeric_limits<std::int64_t>::max() / 2;

// Measures a message in pieces, as it comes.
Result<std::int64_t> size_of(const std::string& bytes, const Descriptor& type = *ModelInferRequest::descriptor(),
                             std::int64_t most = plenty) {
  ArrayInputStream wire(bytes.data(), static_cast<int>(bytes.size()), 7);
  return parsed_bytes(type, wire, most);
}

// Draws a request with some of every kind of field.
ModelInferRequest random_request(Random& random) {
  ModelInferRequest request;
  const auto text = [&random] { return std::string(static_cast<std::size_t>(random.integer(0, 40)), 'x'); };
  request.set_model_name(text());
  for (std::int64_t i = random.integer(0, 5); i > 0; --i) (*request.mutable_parameters())[text()].set_int64_param(i);
  for (std::int64_t i = random.integer(0, 4); i > 0; --i) {
    auto& input = *request.add_inputs();
    for (std::int64_t n = random.integer(0, 9); n > 0; --n) input.add_shape(n << random.integer(0, 40));
    auto& contents = *input.mutable_contents();
    for (std::int64_t n = random.integer(0, 99); n > 0; --n) contents.add_uint_contents(static_cast<std::uint32_t>(n));
    for (std::int64_t n = random.integer(0, 99); n > 0; --n) contents.add_fp32_contents(0.5F);
    for (std::int64_t n = random.integer(0, 99); n > 0; --n) contents.add_int64_contents(-n);
    for (std::int64_t n = random.integer(0, 9); n > 0; --n) contents.add_bytes_contents(text());
  }
  for (std::int64_t i = random.integer(0, 4); i > 0; --i) request.add_outputs()->set_name(text());
  for (std::int64_t i = random.integer(0, 2); i > 0; --i) request.add_raw_input_contents(std::string(1000, 'v'));
  return request;
}

class RandomMessages : public testing::TestWithParam<int> {};

TEST_P(RandomMessages, AreNoLargerThanWasSaid) {
  Random random(test::base_seed() * 3000 + static_cast<std::uint64_t>(GetParam()));
  ModelInferRequest request = random_request(random);
  for (std::int64_t i = random.integer(0, 9); i > 0; --i) {
    auto& unknown = *request.GetReflection()->MutableUnknownFields(&request);
    unknown.AddLengthDelimited(100, std::string(static_cast<std::size_t>(i), 'u'));
    unknown.AddVarint(101, 5);
  }
  const std::string bytes = request.SerializeAsString();
  ModelInferRequest parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  const Result<std::int64_t> said = size_of(bytes);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_GE(*said, static_cast<std::int64_t>(parsed.SpaceUsedLong()));
}

TEST_P(RandomMessages, CutShortOrChangedAreRefusedOrBounded) {
  Random random(test::base_seed() * 3001 + static_cast<std::uint64_t>(GetParam()));
  std::string bytes = random_request(random).SerializeAsString();
  bytes.resize(static_cast<std::size_t>(random.integer(0, std::ssize(bytes))));
  for (char& byte : bytes) {
    if (random.chance(0.02)) byte = static_cast<char>(random.integer(0, 255));
  }
  ModelInferRequest parsed;
  const bool is_message = parsed.ParseFromString(bytes);
  const Result<std::int64_t> said = size_of(bytes);
  if (is_message && said) {
    EXPECT_GE(*said, static_cast<std::int64_t>(parsed.SpaceUsedLong()));
  }
  if (!said) {
    EXPECT_EQ(said.error().code, ErrorCode::invalid_argument);
  }
}

INSTANTIATE_TEST_SUITE_P(MessageSize, RandomMessages, testing::Range(0, test::case_count(50)));

TEST(MessageSize, RawVoxelsTakeHardlyMoreThanTheirBytes) {
  ModelInferRequest request;
  request.add_inputs()->set_name("input");
  request.add_raw_input_contents(std::string(1 << 20, 'v'));
  EXPECT_LE(size_of(request.SerializeAsString()).value(), (1 << 20) + 4096);
  v1::VolumeRequest chunk;
  chunk.mutable_chunk()->set_data(std::string(1 << 20, 'v'));
  EXPECT_LE(size_of(chunk.SerializeAsString(), *v1::VolumeRequest::descriptor()).value(), (1 << 20) + 4096);
}

// The parser keeps every byte of a field that it does not know.
TEST(MessageSize, ALargeUnknownFieldTakesAllItsBytes) {
  constexpr std::int64_t most = (1 << 20) + 4096;
  ModelInferRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(100, std::string(1 << 20, 'u'));
  const std::string bytes = request.SerializeAsString();
  ModelInferRequest parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  const std::int64_t said = size_of(bytes).value();
  EXPECT_GE(said, static_cast<std::int64_t>(parsed.SpaceUsedLong()));
  EXPECT_GE(said, 1 << 20);
  EXPECT_LE(said, most);
  EXPECT_GT(size_of(bytes, *ModelInferRequest::descriptor(), 1 << 19).value(), 1 << 19) << "refused by its bytes";
}

TEST(MessageSize, EndsSoonAfterThereIsTooMuch) {
  const std::string empties(2 << 16, '\0');
  std::string inputs = empties;
  for (std::size_t i = 0; i < inputs.size(); i += 2) inputs[i] = 0x2a;  // field 5, no bytes
  const std::int64_t said = size_of(inputs, *ModelInferRequest::descriptor(), 1 << 20).value();
  EXPECT_GT(said, 1 << 20);
  EXPECT_LT(said, (1 << 20) + 4096);
  ModelInferRequest parsed;
  ASSERT_TRUE(parsed.ParseFromString(inputs));
  EXPECT_GT(static_cast<std::int64_t>(parsed.SpaceUsedLong()), std::ssize(inputs) * 50) << "why this is looked at";
}

// The parser keeps a field whose wire type is another's as one that it does not know.
TEST(MessageSize, EveryFieldIsCountedWhateverItsWireType) {
  constexpr int count = 1 << 10;
  const Descriptor& input = *ModelInferRequest::InferInputTensor::descriptor();
  const Descriptor& contents = *inference::InferTensorContents::descriptor();
  const Descriptor& parameter = *inference::InferParameter::descriptor();
  for (const Descriptor* type : {ModelInferRequest::descriptor(), &input, &contents, &parameter}) {
    for (int number = 1; number <= 12; ++number) {
      for (const auto& [wire_type, value] : {std::pair<int, std::string>{0, std::string(1, '\0')},
                                             {1, std::string(8, '\0')},
                                             {2, std::string(1, '\0')},
                                             {5, std::string(4, '\0')}}) {
        std::string bytes;
        for (int i = 0; i < count; ++i) bytes += static_cast<char>(8 * number + wire_type) + value;
        const std::unique_ptr<google::protobuf::Message> parsed(
            google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
        if (!parsed->ParseFromString(bytes)) continue;
        EXPECT_GE(size_of(bytes, *type).value(), static_cast<std::int64_t>(parsed->SpaceUsedLong()))
            << type->name() << ' ' << number << ' ' << wire_type;
      }
    }
  }
}

TEST(MessageSize, WhatIsNoMessageIsRefused) {
  // A field that ends behind the message, a varint without an end, a group, a tag of nothing.
  for (const std::string& bytes :
       {std::string("\x0a\x05name"), std::string(11, '\xff'), std::string("\x0b\x0c"), std::string("\0\0", 2)}) {
    const Result<std::int64_t> said = size_of(bytes);
    ASSERT_FALSE(said);
    EXPECT_EQ(said.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(said.error().message, testing::HasSubstr("is not a ModelInferRequest"));
  }
}

TEST(MessageSize, MessagesWithinMessagesHaveAnEnd) {
  const auto nested = [](int depth) {
    google::protobuf::Value outer;
    google::protobuf::Value* value = &outer;
    for (int i = 0; i < depth; ++i) value = value->mutable_list_value()->add_values();
    return outer.SerializeAsString();
  };
  EXPECT_TRUE(size_of(nested(10), *google::protobuf::Value::descriptor()));
  EXPECT_FALSE(size_of(nested(40), *google::protobuf::Value::descriptor()));
}

}  // namespace
}  // namespace znni::rpc
