#include "server/rpc/volumes/volume_upload.hpp"

#include <gtest/gtest.h>

#include <string>

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
  std::string taken_;
  VolumeUpload upload_{0, 6, [this](std::span<const std::byte> bytes) -> Result<void> {
                         taken_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                         return {};
                       }};
};

TEST_F(VolumeUploadTest, PassesChunksOnInOrder) {
  ASSERT_TRUE(upload_.add(chunk(0, "abcd")));
  EXPECT_EQ(taken_, "abcd");
  ASSERT_TRUE(upload_.add(chunk(4, "ef")));
  EXPECT_TRUE(upload_.finish());
  EXPECT_EQ(taken_, "abcdef");
  EXPECT_EQ(upload_.received_bytes(), 6);
}

TEST(VolumeUpload, APartOfAVolumeKeepsItsOffsets) {
  VolumeUpload part(4, 8, [](std::span<const std::byte>) { return Result<void>(); });
  EXPECT_EQ(part.add(chunk(0, "ab")).error().message, "chunk offset 0 found, expected 4");
  ASSERT_TRUE(part.add(chunk(4, "ab")));
  EXPECT_EQ(part.finish().error().message, "2 bytes found, expected 4 for the header's extent");
  EXPECT_EQ(part.add(chunk(6, "cde")).error().message, "at least 5 bytes found, expected 4 for the header's extent");
  ASSERT_TRUE(part.add(chunk(6, "cd")));
  EXPECT_TRUE(part.finish());
}

TEST(VolumeUpload, TheErrorOfWhoTakesTheBytesEndsIt) {
  VolumeUpload upload(0, 8, [](std::span<const std::byte>) -> Result<void> {
    return Error{ErrorCode::cancelled, "wanted no more"};
  });
  EXPECT_EQ(upload.add(chunk(0, "ab")).error().message, "wanted no more");
  EXPECT_EQ(upload.received_bytes(), 0);
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
  expect_refused(chunk(0, std::string(max_chunk_bytes + 1, 'x')),
                 "chunk of 1048577 bytes at offset 0 found, expected 1 to 1048576");
}

TEST(VolumeUpload, AChunkOfExactlyTheLimitIsTaken) {
  std::size_t taken = 0;
  VolumeUpload upload(0, max_chunk_bytes, [&taken](std::span<const std::byte> bytes) {
    taken += bytes.size();
    return Result<void>();
  });
  const Result<void> added = upload.add(chunk(0, std::string(max_chunk_bytes, 'x')));
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(taken, static_cast<std::size_t>(max_chunk_bytes));
  EXPECT_TRUE(upload.finish());
}

TEST_F(VolumeUploadTest, MissingBytesAreCounted) {
  ASSERT_TRUE(upload_.add(chunk(0, "abcd")));
  EXPECT_EQ(upload_.finish().error().message, "4 bytes found, expected 6 for the header's extent");
}

}  // namespace
}  // namespace znni::rpc
