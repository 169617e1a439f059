#include "server/metrics/http_connections.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <vector>

#include "server/rpc/connections/owned_descriptor.hpp"

namespace znni {
namespace {

using std::chrono::milliseconds;

// A connection whose place is held, and its client.
class Held {
 public:
  Held(HttpConnections& table, const std::string& peer, const std::string& client) {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    own_.reset(ends[0]);
    client_.reset(ends[1]);
    place_ = table.enter(own_.number(), peer, client);
  }
  [[nodiscard]] bool is_open() const {
    char byte = 0;
    return recv(client_.number(), &byte, 1, MSG_DONTWAIT) < 0;
  }
  [[nodiscard]] const HttpPlace* place() const { return place_.get(); }
  void end() { place_.reset(); }

 private:
  rpc::OwnedDescriptor own_;
  rpc::OwnedDescriptor client_;
  std::unique_ptr<HttpPlace> place_;
};

HttpLimits limits(int most, int max_of_client) { return {most, max_of_client, milliseconds(1), milliseconds(1)}; }

TEST(HttpConnections, TheOldestOfAClientMakesRoomForItsNext) {
  HttpConnections table(limits(10, 2));
  const Held other(table, "c:1", "c");
  const Held first(table, "a:1", "a");
  const Held second(table, "a:2", "a");
  EXPECT_TRUE(first.is_open());
  const Held third(table, "a:3", "a");
  EXPECT_NE(third.place(), nullptr);
  EXPECT_FALSE(first.is_open());
  EXPECT_TRUE(second.is_open());
  EXPECT_TRUE(other.is_open());
  const Held fourth(table, "a:4", "a");
  EXPECT_FALSE(second.is_open()) << "the first is not counted any more";
  EXPECT_TRUE(third.is_open());
  EXPECT_EQ(table.facts().over_share, 2);
}

TEST(HttpConnections, TheOldestOfAllMakesRoomWhereAllAreTooMany) {
  HttpConnections table(limits(2, 2));
  const Held first(table, "a:1", "a");
  const Held second(table, "b:1", "b");
  const Held third(table, "c:1", "c");
  EXPECT_FALSE(first.is_open());
  EXPECT_TRUE(second.is_open());
  EXPECT_NE(third.place(), nullptr);
}

TEST(HttpConnections, OneThatAServiceWorksOnIsKept) {
  HttpConnections table(limits(10, 2));
  const Held first(table, "a:1", "a");
  const Held second(table, "a:2", "a");
  table.note_work("a:1");
  const Held third(table, "a:3", "a");
  EXPECT_TRUE(first.is_open());
  EXPECT_FALSE(second.is_open());
  table.note_work("a:3");
  EXPECT_EQ(Held(table, "a:4", "a").place(), nullptr);
  first.place()->begin_request();
  EXPECT_NE(Held(table, "a:5", "a").place(), nullptr) << "it is on its next request";
  EXPECT_FALSE(first.is_open());
}

TEST(HttpConnections, OneThatHasEndedMakesRoom) {
  HttpConnections table(limits(1, 1));
  for (int i = 0; i < 3; ++i) {
    Held one(table, "a:1", "a");
    EXPECT_NE(one.place(), nullptr);
    one.end();
  }
  EXPECT_EQ(table.facts().over_share, 0);
}

TEST(HttpConnections, ARequestHasATimeUnlessAServiceWorksOnIt) {
  HttpConnections table({2, 2, milliseconds(0), std::chrono::hours(1)});
  const Held one(table, "a:1", "a");
  EXPECT_GT(one.place()->left(), milliseconds(0));
  EXPECT_LE(one.place()->left(), std::chrono::hours(1));
  table.note_work("a:1");
  EXPECT_EQ(one.place()->left(), milliseconds::max());
  one.place()->begin_request();
  EXPECT_LE(one.place()->left(), std::chrono::hours(1));
  HttpConnections hasty({2, 2, milliseconds(0), milliseconds(0)});
  EXPECT_EQ(Held(hasty, "a:1", "a").place()->left(), milliseconds(0));
}

TEST(HttpConnections, TellsOfThemOnce) {
  std::vector<std::string> lines;
  HttpConnections table(limits(3, 1), [&lines](const std::string& line) { lines.push_back(line); });
  const Held first(table, "a:1", "a");
  const Held second(table, "a:2", "a");
  const Held third(table, "a:3", "a");
  EXPECT_THAT(lines,
              testing::ElementsAre("closed 1 connections of the metrics port for others that came, the last from "
                                   "a: 1 of an address and 3 in all are served at a time"));
}

}  // namespace
}  // namespace znni
