#include "server/rpc/volume_upload.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace znni::rpc {
namespace {

v1::VolumeChunk chunk(std::int64_t offset, const std::string& data) {
  v1::VolumeChunk chunk;
  chunk.set_offset(offset);
  chunk.set_data(data);
  return chunk;
}

class VolumeUploadTest : public testing::Test {
 protected:
  void expect_refused(const v1::VolumeChunk& bad, const std::string& message) {
    const Result<void> added = upload_.add(bad);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(added.error().message, message);
  }
  std::vector<std::byte> volume_ = std::vector<std::byte>(6);
  VolumeUpload upload_{volume_};
};

TEST_F(VolumeUploadTest, CollectsChunksInOrder) {
  ASSERT_TRUE(upload_.add(chunk(0, "abcd")));
  ASSERT_TRUE(upload_.add(chunk(4, "ef")));
  EXPECT_TRUE(upload_.finish());
  EXPECT_EQ(std::memcmp(volume_.data(), "abcdef", 6), 0);
}

TEST_F(VolumeUploadTest, GapsAndRepetitionsAreRefused) {
  ASSERT_TRUE(upload_.add(chunk(0, "ab")));
  expect_refused(chunk(3, "d"), "chunk offset 3 found, expected 2");
  expect_refused(chunk(0, "ab"), "chunk offset 0 found, expected 2");
  expect_refused(chunk(-1, "ab"), "chunk offset -1 found, expected 2");
}

TEST_F(VolumeUploadTest, TooMuchIsRefused) {
  ASSERT_TRUE(upload_.add(chunk(0, "abcd")));
  expect_refused(chunk(4, "efg"), "at least 7 bytes found, expected 6 for the header's extent");
}

TEST_F(VolumeUploadTest, ChunksHaveALimit) {
  expect_refused(chunk(0, ""), "chunk of 0 bytes at offset 0 found, expected 1 to 1048576");
  expect_refused(chunk(0, std::string(most_chunk_bytes + 1, 'x')),
                 "chunk of 1048577 bytes at offset 0 found, expected 1 to 1048576");
}

TEST_F(VolumeUploadTest, MissingBytesAreCounted) {
  ASSERT_TRUE(upload_.add(chunk(0, "abcd")));
  EXPECT_EQ(upload_.finish().error().message, "4 bytes found, expected 6 for the header's extent");
}

}  // namespace
}  // namespace znni::rpc
