#include "server/rpc/connections/connection_table.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <vector>

#include "server/rpc/connections/owned_descriptor.hpp"

namespace znni::rpc {
namespace {

OwnedDescriptor a_socket() { return OwnedDescriptor(socket(AF_INET, SOCK_STREAM, 0)); }

TEST(ConnectionTable, CountsOpenSocketsAlone) {
  ConnectionTable table({10, 10});
  OwnedDescriptor first = a_socket();
  const OwnedDescriptor second = a_socket();
  EXPECT_EQ(table.admit(first.number(), "a"), Admission::admitted);
  EXPECT_EQ(table.admit(second.number(), "b"), Admission::admitted);
  EXPECT_EQ(table.count(), 2);
  first.reset();
  EXPECT_EQ(table.count(), 1);
}

TEST(ConnectionTable, FindsAConnectionByItsOtherEnd) {
  ConnectionTable table({10, 10});
  const OwnedDescriptor first = a_socket();
  const OwnedDescriptor second = a_socket();
  EXPECT_EQ(table.admit(first.number(), "a", ConnectionTable::Clock::now(), "a:1"), Admission::admitted);
  EXPECT_EQ(table.admit(second.number(), "a", ConnectionTable::Clock::now(), "a:2"), Admission::admitted);
  EXPECT_EQ(table.find("a:2")->descriptor, second.number());
  EXPECT_FALSE(table.find("a:3"));
}

TEST(ConnectionTable, ANumberThatIsUsedAgainIsAnotherConnection) {
  ConnectionTable table({10, 10});
  OwnedDescriptor first = a_socket();
  const int number = first.number();
  EXPECT_EQ(table.admit(number, "a"), Admission::admitted);
  first.reset();
  const OwnedDescriptor second = a_socket();
  ASSERT_EQ(second.number(), number);
  EXPECT_EQ(table.count(), 0) << "an open socket of ours, but not that one";
  EXPECT_EQ(table.admit(number, "a"), Admission::admitted);
  EXPECT_EQ(table.admit(number, "b"), Admission::admitted) << "the one before must have ended";
  EXPECT_EQ(table.count(), 1);
}

TEST(ConnectionTable, OneClientLeavesRoomForOthers) {
  ConnectionTable table({4, 2});
  std::vector<OwnedDescriptor> sockets;
  const auto admit = [&](const char* client) {
    sockets.push_back(a_socket());
    return table.admit(sockets.back().number(), client);
  };
  EXPECT_EQ(admit("a"), Admission::admitted);
  EXPECT_EQ(admit("a"), Admission::admitted);
  EXPECT_EQ(admit("a"), Admission::client_full);
  EXPECT_EQ(admit("b"), Admission::admitted);
  EXPECT_EQ(admit("c"), Admission::admitted);
  EXPECT_EQ(admit("d"), Admission::server_full);
  EXPECT_EQ(table.count(), 4) << "refused ones are not counted";
}

TEST(ConnectionTable, ACutConnectionEndsAtOnceAndOnce) {
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
  OwnedDescriptor ours(pair[0]);
  const OwnedDescriptor theirs(pair[1]);
  ConnectionTable table({10, 10});
  EXPECT_EQ(table.admit(ours.number(), "a", ConnectionTable::Clock::now(), "a:5"), Admission::admitted);
  const std::vector<OpenConnection> open = table.open();
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open.front().client, "a");
  EXPECT_EQ(open.front().peer, "a:5");
  EXPECT_TRUE(table.cut(open.front()));
  char byte = 0;
  EXPECT_EQ(recv(theirs.number(), &byte, 1, 0), 0);
  EXPECT_FALSE(table.cut(open.front()));
  EXPECT_EQ(table.count(), 0);
  EXPECT_EQ(table.admit(ours.number(), "a"), Admission::admitted);
  const OpenConnection ended = table.open().front();
  ours.reset();
  EXPECT_FALSE(table.cut(ended)) << "it was closed before";
}

TEST(ConnectionTable, WhatHasEndedMakesRoom) {
  constexpr auto pause = ConnectionTable::between_looks;
  const ConnectionTable::Clock::time_point now = ConnectionTable::Clock::now();
  ConnectionTable table({2, 1});
  OwnedDescriptor first = a_socket();
  OwnedDescriptor second = a_socket();
  const OwnedDescriptor third = a_socket();
  EXPECT_EQ(table.admit(first.number(), "a", now), Admission::admitted);
  EXPECT_EQ(table.admit(second.number(), "b", now), Admission::admitted);
  EXPECT_EQ(table.admit(third.number(), "c", now), Admission::server_full);
  first.reset();
  EXPECT_EQ(table.admit(third.number(), "c", now), Admission::server_full) << "it has just looked";
  EXPECT_EQ(table.admit(third.number(), "b", now + pause), Admission::client_full);
  EXPECT_EQ(table.admit(third.number(), "c", now + pause), Admission::admitted);
  second.reset();
  const OwnedDescriptor fourth = a_socket();
  EXPECT_EQ(table.admit(fourth.number(), "b", now + 2 * pause), Admission::admitted);
}

}  // namespace
}  // namespace znni::rpc
