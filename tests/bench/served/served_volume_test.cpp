#include "tests/bench/served/served_volume.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/bench/served/echo_server.hpp"
#include "tests/server/rpc/fake_model_server.hpp"

namespace znni::bench {
namespace {

using testing::HasSubstr;

std::string address_of(const EchoServer& server) { return "127.0.0.1:" + std::to_string(server.port()); }

TEST(ServedVolume, ComesBackFromAnEchoAsItWas) {
  const EchoServer server;
  ASSERT_GT(server.port(), 0);
  // Planes are not a multiple of a chunk, and are larger than one.
  for (const Vec3 n : {Vec3{40, 30, 50}, Vec3{3, 1100, 1001}}) {
    const Result<Spent> spent = stream_volume(address_of(server), {"any", n, true});
    ASSERT_TRUE(spent) << spent.error().message;
    EXPECT_GT(spent->wall, 0);
  }
}

TEST(ServedVolume, NobodyThereIsAnError) {
  EXPECT_THAT(stream_volume("127.0.0.1:1", {"any", {2, 2, 2}, true}).error().message, HasSubstr("127.0.0.1:1"));
}

TEST(ServedVolume, IsRunInThisProcessToo) {
  rpc::FakeModelServer models;
  const Result<Spent> spent = run_volume(models, {"twice", {8, 9, 10}});
  ASSERT_TRUE(spent) << spent.error().message;
}

TEST(PlaneMaker, TellsPlanesApart) {
  const PlaneMaker planes({32, 10, 100});
  std::vector<std::byte> plane(planes.bytes());
  planes.make(16, plane);
  EXPECT_TRUE(planes.is_plane(16, plane));
  EXPECT_FALSE(planes.is_plane(17, plane));
  plane[500] ^= std::byte{1};
  EXPECT_FALSE(planes.is_plane(16, plane));
  plane.pop_back();
  EXPECT_FALSE(planes.is_plane(16, plane));
}

}  // namespace
}  // namespace znni::bench
