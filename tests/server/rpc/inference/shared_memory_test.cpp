#include "server/rpc/inference/shared_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/rpc/shared_memory_file.hpp"

namespace znni::rpc {
namespace {

using grpc::StatusCode;

class SharedMemory : public testing::Test {
 protected:
  grpc::Status add(const std::string& name, std::uint64_t bytes = 100, std::uint64_t offset = 0) {
    inference::SystemSharedMemoryRegisterRequest request;
    request.set_name(name);
    request.set_key(memory_.key());
    request.set_offset(offset);
    request.set_byte_size(bytes);
    return register_region(request, regions_);
  }
  const SharedMemoryFile memory_{100};
  SharedRegions regions_;
};

TEST_F(SharedMemory, StatesWhatIsRegistered) {
  ASSERT_TRUE(add("a").ok());
  ASSERT_TRUE(add("b", 50, 10).ok());
  inference::SystemSharedMemoryStatusRequest request;
  inference::SystemSharedMemoryStatusResponse all;
  ASSERT_TRUE(describe_regions(request, regions_, all).ok());
  EXPECT_EQ(all.regions_size(), 2);
  request.set_name("b");
  inference::SystemSharedMemoryStatusResponse one;
  ASSERT_TRUE(describe_regions(request, regions_, one).ok());
  ASSERT_EQ(one.regions_size(), 1);
  EXPECT_EQ(one.regions().at("b").key(), memory_.key());
  EXPECT_EQ(one.regions().at("b").offset(), 10U);
  EXPECT_EQ(one.regions().at("b").byte_size(), 50U);
  request.set_name("c");
  EXPECT_EQ(describe_regions(request, regions_, one).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(SharedMemory, ErrorsHaveTheirCodes) {
  ASSERT_TRUE(add("a").ok());
  EXPECT_EQ(add("a").error_code(), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(add("").error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(add(std::string(300, 'a')).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(add("b", 101).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(add("b", ~std::uint64_t{0}).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(add("b", 1, ~std::uint64_t{0}).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(shared_memory_is_off().error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(shared_memory_is_off().error_message(), testing::HasSubstr("--allow-client-shm"));
}

}  // namespace
}  // namespace znni::rpc
