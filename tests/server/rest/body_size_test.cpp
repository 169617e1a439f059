#include "server/rest/body_size.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "server/jobs/memory_shares.hpp"

namespace znni::rest {
namespace {

using testing::HasSubstr;

constexpr std::int64_t most = 1000;

HttpRequest request_with(const std::multimap<std::string, std::string>& headers) {
  HttpRequest request;
  request.header = [headers](const char* name) {
    std::vector<std::string> values;
    for (auto [at, end] = headers.equal_range(name); at != end; ++at) values.push_back(at->second);
    return values;
  };
  return request;
}

void expect_refused(const std::multimap<std::string, std::string>& headers, ErrorCode code, const std::string& part) {
  const Result<BodySize> size = read_body_size(request_with(headers), most);
  ASSERT_FALSE(size) << part;
  EXPECT_EQ(size.error().code, code) << size.error().message;
  EXPECT_THAT(size.error().message, HasSubstr(part));
}

TEST(BodySize, WithoutAHeaderOfItsOwnAllIsJson) {
  const Result<BodySize> size = read_body_size(request_with({{"Content-Length", "70"}}), most);
  ASSERT_TRUE(size);
  EXPECT_EQ(size->json, 70);
  EXPECT_EQ(size->binary, 0);
}

TEST(BodySize, BinaryDataComesBehindTheJson) {
  const Result<BodySize> size =
      read_body_size(request_with({{"Content-Length", "70"}, {"Inference-Header-Content-Length", "20"}}), most);
  ASSERT_TRUE(size);
  EXPECT_EQ(size->json, 20);
  EXPECT_EQ(size->binary, 50);
}

TEST(BodySize, LengthsThatAreNoneAreRefused) {
  expect_refused({}, ErrorCode::invalid_argument, "no Content-Length found");
  for (const char* text : {"", "-5", "+5", "5 ", " 5", "0x5", "5,5", "99999999999999999999", "five", "-0"}) {
    expect_refused({{"Content-Length", text}}, ErrorCode::invalid_argument, "the header Content-Length");
    expect_refused({{"Content-Length", "9"}, {"Inference-Header-Content-Length", text}}, ErrorCode::invalid_argument,
                   "the header Inference-Header-Content-Length");
  }
  expect_refused({{"Content-Length", "5"}, {"Content-Length", "5"}}, ErrorCode::invalid_argument, "found twice");
}

TEST(BodySize, AHeaderLengthBeyondTheBodyIsRefused) {
  expect_refused({{"Content-Length", "70"}, {"Inference-Header-Content-Length", "71"}}, ErrorCode::invalid_argument,
                 "Inference-Header-Content-Length is 71, expected at most the length of the body, 70");
  EXPECT_TRUE(
      read_body_size(request_with({{"Content-Length", "70"}, {"Inference-Header-Content-Length", "70"}}), most));
}

TEST(BodySize, BodiesAreBounded) {
  const std::int64_t largest = most + max_beside_voxels(most);
  EXPECT_TRUE(read_body_size(request_with({{"Content-Length", std::to_string(largest)}}), most));
  expect_refused({{"Content-Length", std::to_string(largest + 1)}}, ErrorCode::over_budget,
                 "a body of " + std::to_string(largest + 1) + " bytes found, at most " + std::to_string(largest));
  const std::string header = std::to_string(max_beside_voxels(most) + 1);
  expect_refused({{"Content-Length", std::to_string(largest)}, {"Inference-Header-Content-Length", header}},
                 ErrorCode::over_budget, "JSON before binary data of " + header);
}

// Counts the body, its numbers as float32 (two bytes of text become four) and all other text once more.
TEST(BodySize, FitsIntoItsTurnWithAllThatItBecomes) {
  constexpr std::int64_t mib = std::int64_t{1} << 20;
  for (const std::int64_t voxels : {mib / 8, mib / 2, mib, 3 * mib, 4 * mib, 128 * mib}) {
    const std::int64_t body = voxels + max_beside_voxels(voxels);
    const std::int64_t other_text = body - voxels / 2;
    EXPECT_LE(body + voxels + other_text, copies_while_received * voxels) << voxels;
  }
  EXPECT_EQ(max_beside_voxels(1), 16 << 10);
  EXPECT_EQ(max_beside_voxels(128 * mib), mib);
}

TEST(BodySize, WhatMayUnpackToAnythingIsRefused) {
  expect_refused({{"Transfer-Encoding", "chunked"}}, ErrorCode::unsupported, "in chunks");
  expect_refused({{"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}}, ErrorCode::unsupported, "in chunks");
  expect_refused({{"Content-Length", "5"}, {"Content-Encoding", "gzip"}}, ErrorCode::unsupported, "compressed");
  expect_refused({{"Content-Length", "5"}, {"Content-Type", "multipart/form-data; boundary=x"}}, ErrorCode::unsupported,
                 "several parts");
}

TEST(BodySize, OnlyPlainBodiesAreRead) {
  EXPECT_TRUE(is_plain_body(request_with({{"Content-Length", "5"}})));
  EXPECT_TRUE(is_plain_body(request_with({{"Content-Length", "999999999999"}}))) << "too large, but known";
  EXPECT_FALSE(is_plain_body(request_with({})));
  EXPECT_FALSE(is_plain_body(request_with({{"Content-Length", "x"}})));
  EXPECT_FALSE(is_plain_body(request_with({{"Content-Length", "5"}, {"Content-Length", "5"}})));
  EXPECT_FALSE(is_plain_body(request_with({{"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}})));
  EXPECT_FALSE(is_plain_body(request_with({{"Content-Length", "5"}, {"Content-Encoding", "br"}})));
  EXPECT_FALSE(is_plain_body(request_with({{"Content-Length", "5"}, {"Content-Type", "multipart/mixed"}})));
}

}  // namespace
}  // namespace znni::rest
