// Models of a ModelServer that follows its repository.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/server/jobs/model_server_fixture.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::mib;
using test::wait_until;
using testing::HasSubstr;
using testing::Not;

class Polling : public test::ModelServerTest {
 protected:
  // A change is followed when two looks agree on it.
  static void poll_twice(ModelServer& server) {
    for (int look = 0; look < 2; ++look) server.poll({});
  }

  // Makes a file of so many bytes, none of which is on disk.
  void add_empty_weights(const std::string& name, std::int64_t bytes) {
    std::filesystem::resize_file(directory_.write(name, ""), static_cast<std::uintmax_t>(bytes));
  }

  void remove(const std::string& folder) { std::filesystem::remove_all(directory_.path() / folder); }
};

TEST_F(Polling, ANewModelIsLoadedAndAGoneOneUnloaded) {
  add_network("a");
  write_parameter("a", "memory", "300K");
  const std::unique_ptr<ModelServer> server = open();
  add_network("b");
  server->poll({});
  EXPECT_FALSE(server->find("b", "")) << "it may be half a copy";
  server->poll({});
  EXPECT_TRUE(server->find("b", "")) << log();
  EXPECT_THAT(log(), HasSubstr("info: model 'b' version 1 is new or has changed in the repository: it is loaded\n"));
  const std::int64_t both = server->memory().models_used;
  remove("a");
  server->poll({});
  EXPECT_TRUE(server->find("a", ""));
  server->poll({});
  EXPECT_EQ(server->find("a", "").error().code, ErrorCode::not_found);
  EXPECT_THAT(log(), HasSubstr("info: model 'a' is gone from the repository: it is unloaded\n"));
  EXPECT_EQ(server->models().size(), 1U);
  EXPECT_LT(server->memory().models_used, both);
  EXPECT_TRUE(server->ready());
}

TEST_F(Polling, WhatHasNotChangedIsLeftAlone) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  const std::int64_t number = server->find("net", "")->number;
  const std::string before = log();
  for (int look = 0; look < 4; ++look) server->poll({});
  EXPECT_EQ(server->find("net", "")->number, number);
  EXPECT_EQ(log(), before);
}

TEST_F(Polling, ANewVersionReplacesTheOldOneWhoseJobsEndOnIt) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  JobOutcome outcome;
  std::jthread running([&] { EXPECT_TRUE(server->run("net", "1", held_job(outcome), {})); });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  add_network("net", "2");
  std::jthread polling([&] { poll_twice(*server); });
  ASSERT_TRUE(wait_until([&] { return !server->find("net", ""); }));
  released_ = true;
  running.join();
  polling.join();
  EXPECT_EQ(server->find("net", "")->version, "2");
  EXPECT_TRUE(server->ready());
  EXPECT_EQ(server->memory().models_used, server->find("net", "")->memory.total());
}

TEST_F(Polling, AChangedConfigurationIsAChange) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  const std::string before = server->find("net", "")->fingerprint;
  write_parameter("net", "input_scale", "3");
  poll_twice(*server);
  EXPECT_NE(server->find("net", "")->fingerprint, before);
}

TEST_F(Polling, AVersionThatCannotBeReadLeavesTheOldOneServing) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  const std::int64_t number = server->find("net", "")->number;
  directory_.write("net/2/model.onnx", "no model");
  poll_twice(*server);
  ASSERT_TRUE(server->find("net", "")) << log();
  EXPECT_EQ(server->find("net", "")->version, "1");
  EXPECT_EQ(server->find("net", "")->number, number);
  EXPECT_TRUE(server->ready());
  EXPECT_THAT(log(), HasSubstr("error: model 'net' version 2 cannot be served, version 1 as it was serves on: "));
  const std::string told = log();
  poll_twice(*server);
  EXPECT_EQ(log(), told) << "once";
  add_network("net", "2");
  poll_twice(*server);
  EXPECT_EQ(server->find("net", "")->version, "2") << log();
}

// Weights of 16 bits take twice the bytes of their file.
TEST_F(Polling, WhatMayNotFitBesideTheOldOneComesAfterIt) {
  add_network("net");
  write_parameter("net", "memory", "300K");
  const std::unique_ptr<ModelServer> server = open(500 * mib);
  const std::int64_t left = server->memory().models_limit - server->memory().models_used;
  directory_.write("net/2/model.onnx", "no model");
  add_empty_weights("net/2/weights/w.bin", left / 4);
  poll_twice(*server);
  ASSERT_TRUE(server->find("net", "")) << log();
  EXPECT_EQ(server->find("net", "")->version, "1");
  add_empty_weights("net/2/weights/w.bin", left / 4 * 3);
  poll_twice(*server);
  EXPECT_FALSE(server->find("net", "")) << log();
}

TEST_F(Polling, AVersionThatIsNeverGivenItsMemoryLeavesTheOldOneServing) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  add_network("net", "2");
  add_empty_weights("net/2/w.bin", std::int64_t{4} << 30);
  write_parameter("net", "memory", "4G");
  poll_twice(*server);
  ASSERT_TRUE(server->find("net", "")) << log();
  EXPECT_EQ(server->find("net", "")->version, "1");
  EXPECT_THAT(log(), HasSubstr("version 2 cannot be served, version 1 as it was serves on: "));
  EXPECT_THAT(log(), HasSubstr("its parameter memory is 4.00 GiB, and "));
}

// A broken upload takes nothing out of service, nor the server out of its balancer.
TEST_F(Polling, ANewModelThatCannotBeReadIsToldAndNotMissed) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  directory_.write("broken/1/model.onnx", "no model");
  poll_twice(*server);
  EXPECT_EQ(server->find("broken", "").error().code, ErrorCode::unavailable);
  EXPECT_TRUE(server->find("net", ""));
  EXPECT_TRUE(server->ready());
}

TEST_F(Polling, ANewModelThatHasNoRoomIsRefusedWithNumbers) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  add_network("large");
  write_parameter("large", "memory", "4G");
  poll_twice(*server);
  EXPECT_THAT(server->find("large", "").error().message, HasSubstr("its parameter memory is 4.00 GiB, and "));
  EXPECT_TRUE(server->find("net", ""));
}

// As a volume that is not mounted looks.
TEST_F(Polling, ARepositoryWithoutModelsIsNotFollowed) {
  add_network("a");
  add_network("b");
  const std::unique_ptr<ModelServer> server = open();
  remove("a");
  remove("b");
  for (int look = 0; look < 4; ++look) server->poll({});
  EXPECT_TRUE(server->ready());
  EXPECT_EQ(server->models().size(), 2U);
  const std::string told = log();
  EXPECT_THAT(told, HasSubstr("warning: model repository: " + directory_.path().string() + ": has no model any more"));
  EXPECT_EQ(told.find("any more"), told.rfind("any more")) << "once";
  add_network("a");
  poll_twice(*server);
  EXPECT_TRUE(server->find("a", ""));
  EXPECT_EQ(server->models().size(), 1U) << log();
}

TEST_F(Polling, AServerThatEndsFollowsNothing) {
  add_network("a");
  const std::unique_ptr<ModelServer> server = open();
  add_network("b");
  server->retire();
  poll_twice(*server);
  EXPECT_EQ(server->models().size(), 1U);
  EXPECT_THAT(log(), Not(HasSubstr("'b'")));
}

// The jobs that it then waits for may take hours.
TEST_F(Polling, AServerThatEndsStopsFollowing) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  JobOutcome outcome;
  std::jthread running([&] { EXPECT_TRUE(server->run("net", "1", held_job(outcome), {})); });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  add_network("net", "2");
  std::atomic<bool> has_ended = false;
  std::jthread polling([&] {
    poll_twice(*server);
    has_ended = true;
  });
  ASSERT_TRUE(wait_until([&] { return !server->find("net", ""); }));
  server->retire();
  EXPECT_TRUE(wait_until([&] { return has_ended.load(); })) << "while the job still runs";
  const Result<ModelInfo> served = server->find("net", "");
  EXPECT_TRUE(served && served->version == "1");
  released_ = true;
}

}  // namespace
}  // namespace znni
