#include "server/metrics/body_discard.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

namespace znni {
namespace {

HttpRequest request_that(std::function<bool(const TakeBytes&)> read) {
  HttpRequest request;
  request.read = std::move(read);
  return request;
}

TEST(BodyDiscard, ReadsAllThatComes) {
  BodyDiscard discard;
  int taken = 0;
  EXPECT_TRUE(discard.discard(request_that([&taken](const TakeBytes& take) {
    while (taken < 3 && take("abc", 3)) ++taken;
    return taken == 3;
  })));
  EXPECT_EQ(taken, 3);
  EXPECT_FALSE(discard.discard(request_that([](const TakeBytes&) { return false; }))) << "the client is gone";
}

TEST(BodyDiscard, FewGoOnAtTheSameTime) {
  BodyDiscard discard;
  std::latch inside(BodyDiscard::max_at_a_time);
  std::latch ended(1);
  {
    std::vector<std::jthread> slow;
    for (int i = 0; i < BodyDiscard::max_at_a_time; ++i) {
      slow.emplace_back([&] {
        EXPECT_TRUE(discard.discard(request_that([&](const TakeBytes&) {
          inside.count_down();
          ended.wait();
          return true;
        })));
      });
    }
    inside.wait();
    bool was_read = false;
    const HttpRequest another = request_that([&was_read](const TakeBytes&) { return was_read = true; });
    EXPECT_FALSE(discard.discard(another));
    EXPECT_FALSE(was_read);
    ended.count_down();
  }
  EXPECT_TRUE(discard.discard(request_that([](const TakeBytes&) { return true; }))) << "they gave back their places";
}

}  // namespace
}  // namespace znni
