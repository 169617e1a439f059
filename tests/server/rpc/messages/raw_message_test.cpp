#include "server/rpc/messages/raw_message.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/inference.pb.h"
#include "tests/server/rpc/wire.hpp"

namespace znni::rpc {
namespace {

using inference::ModelReadyRequest;

constexpr std::int64_t plenty = 1 << 20;

TEST(RawMessage, IsParsedAndItsBytesAreLetGo) {
  ModelReadyRequest sent;
  sent.set_name("net");
  grpc::ByteBuffer wire = wire_of(sent);
  ModelReadyRequest received;
  const Result<void> parsed = parse(wire, plenty, received);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(received.name(), "net");
  EXPECT_EQ(wire.Length(), 0U);
}

TEST(RawMessage, InManyPiecesIsOneMessage) {
  ModelReadyRequest sent;
  sent.set_name(std::string(1000, 'n'));
  const std::string bytes = sent.SerializeAsString();
  std::vector<grpc::Slice> slices;
  for (std::size_t at = 0; at < bytes.size(); at += 7) slices.emplace_back(bytes.substr(at, 7));
  grpc::ByteBuffer wire(slices.data(), slices.size());
  ModelReadyRequest received;
  ASSERT_TRUE(parse(wire, plenty, received));
  EXPECT_EQ(received.name(), sent.name());
}

TEST(RawMessage, ThatWouldGrowTooLargeIsNotParsed) {
  ModelReadyRequest sent;
  sent.set_name(std::string(10'000, 'n'));
  grpc::ByteBuffer wire = wire_of(sent);
  ModelReadyRequest received;
  const Result<void> parsed = parse(wire, 9'000, received);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::over_budget);
  EXPECT_THAT(parsed.error().message, testing::HasSubstr("a ModelReadyRequest of 10003 bytes would take more than"));
  EXPECT_TRUE(received.name().empty());
  EXPECT_EQ(wire.Length(), 0U);
}

TEST(RawMessage, ThatIsNoneIsRefusedInWords) {
  for (const char* bytes : {"\x0a\x05net", "\x0a\x02\xff\xfe"}) {  // cut short, no UTF-8
    grpc::ByteBuffer wire = wire_of(std::string(bytes));
    ModelReadyRequest received;
    const Result<void> parsed = parse(wire, plenty, received);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(parsed.error().message, "the message is not a ModelReadyRequest");
  }
}

}  // namespace
}  // namespace znni::rpc
