// The server on a free loopback port, over a fake ModelServer, with a channel to it.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/rpc/server.hpp"
#include "tests/server/rpc/requests.hpp"

namespace znni::rpc {

class Loopback : public testing::Test {
 protected:
  void start(ListenOptions given) {
    given.flows = [this](const CallFlow& flow) {
      const std::scoped_lock lock(mutex_);
      flow_.model = flow.model;
      flow_.version = flow.version;
      flow_.bytes_in += flow.bytes_in;
      flow_.bytes_out += flow.bytes_out;
      flow_.voxels += flow.voxels;
      flow_.patches += flow.patches;
    };
    Result<std::unique_ptr<Server>> started = Server::start(models_, record_, given);
    ASSERT_TRUE(started) << started.error().message;
    server_ = *std::move(started);
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    // Tests in one process would otherwise share connections to ports used again.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server_->port()),
                                         grpc::InsecureChannelCredentials(), arguments);
  }
  void SetUp() override { start(options()); }

  [[nodiscard]] static ListenOptions options() {
    ListenOptions options;
    options.port = 0;
    options.max_message_bytes = 4 << 20;
    return options;
  }

  [[nodiscard]] std::vector<CallRecord> records() {
    const std::scoped_lock lock(mutex_);
    return records_;
  }

  // Returns the flow of all calls together, with the name and version of the last that told.
  [[nodiscard]] CallFlow flow() {
    const std::scoped_lock lock(mutex_);
    return flow_;
  }

  FakeModelServer models_;
  std::mutex mutex_;  // guards records_ and flow_
  std::vector<CallRecord> records_;
  CallFlow flow_;
  CallSink record_ = [this](const CallRecord& record) {
    const std::scoped_lock lock(mutex_);
    records_.push_back(record);
  };
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;  // shared: stubs keep it
};

}  // namespace znni::rpc
