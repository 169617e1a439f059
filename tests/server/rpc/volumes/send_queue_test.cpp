#include "server/rpc/volumes/send_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <vector>

namespace znni::rpc {
namespace {

TEST(SendQueue, SendsInOrderOnAThreadOfItsOwn) {
  SendQueue queue;
  std::vector<int> sent;
  bool elsewhere = true;
  const std::thread::id here = std::this_thread::get_id();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(queue.push(1, [&, i] {
      sent.push_back(i);
      elsewhere = elsewhere && std::this_thread::get_id() != here;
      return true;
    }));
  }
  ASSERT_TRUE(queue.flush());
  ASSERT_EQ(sent.size(), 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sent[static_cast<std::size_t>(i)], i);
  EXPECT_TRUE(elsewhere);
}

TEST(SendQueue, PushingDoesNotWaitAndRoomIsWaitedFor) {
  SendQueue queue;
  std::latch slow(1);
  std::atomic<int> sent = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(queue.push(10, [&] {
      slow.wait();
      ++sent;
      return true;
    }));
  }
  ASSERT_TRUE(queue.wait_for_room(30));
  EXPECT_EQ(sent, 0);
  slow.count_down();
  ASSERT_TRUE(queue.wait_for_room(10));
  EXPECT_GE(sent, 2);
  ASSERT_TRUE(queue.wait_for_room(-5));
  EXPECT_EQ(sent, 3);
}

TEST(SendQueue, AFailureEndsIt) {
  SendQueue queue;
  int sent = 0;
  std::latch pushed(1);
  ASSERT_TRUE(queue.push(5, [&] {
    pushed.wait();
    return false;
  }));
  ASSERT_TRUE(queue.push(5, [&] {
    ++sent;
    return true;
  }));
  pushed.count_down();
  EXPECT_FALSE(queue.flush());
  EXPECT_FALSE(queue.wait_for_room(100));
  EXPECT_FALSE(queue.push(1, [] { return true; }));
  EXPECT_EQ(sent, 0);
}

TEST(SendQueue, WhatHasNotBegunIsForgotten) {
  std::latch begun(1);
  std::latch forgotten(1);
  int sent = 0;
  {
    SendQueue queue;
    ASSERT_TRUE(queue.push(1, [&] {
      begun.count_down();
      forgotten.wait();
      return true;
    }));
    ASSERT_TRUE(queue.push(1, [&] {
      ++sent;
      return true;
    }));
    begun.wait();
    queue.forget();
    forgotten.count_down();
  }
  EXPECT_EQ(sent, 0);
}

}  // namespace
}  // namespace znni::rpc
