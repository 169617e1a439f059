#include "server/rpc/connections/connection_listener.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "tests/server/rpc/tcp_client.hpp"

namespace znni::rpc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Holds what a listener hands over.
class ConnectionListenerTest : public testing::Test {
 protected:
  void listen(ConnectionLimits limits) {
    auto sockets = open_listening_sockets({"127.0.0.1:0"});
    ASSERT_TRUE(sockets);
    port_ = sockets->front().address.port();
    const auto take = [this](int listening, OwnedDescriptor connection) {
      EXPECT_EQ(SocketAddress::of_socket(listening)->port(), port_);
      EXPECT_NE(fcntl(connection.number(), F_GETFL) & O_NONBLOCK, 0);
      EXPECT_NE(fcntl(connection.number(), F_GETFD) & FD_CLOEXEC, 0);
      const std::scoped_lock lock(mutex_);
      taken_.push_back(std::move(connection));
      changed_.notify_all();
    };
    const auto answer = [](int, OwnedDescriptor connection) {
      const std::string settings{0, 0, 0, 4, 0, 0, 0, 0, 0};
      EXPECT_EQ(send(connection.number(), settings.data(), settings.size(), 0), 9);
    };
    const auto warn = [this](const std::string& line) { warnings_.push_back(line); };
    listener_ = std::make_unique<ConnectionListener>(*std::move(sockets), limits, ConnectionTakers{take, answer}, warn);
  }
  void wait_for_taken(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return taken_.size() >= count; });
  }

  int port_ = 0;
  std::mutex mutex_;  // guards taken_
  std::condition_variable changed_;
  std::vector<OwnedDescriptor> taken_;
  std::vector<std::string> warnings_;  // of the listener's thread; read when it has stopped
  std::unique_ptr<ConnectionListener> listener_;
};

TEST_F(ConnectionListenerTest, ConnectionsAreHandedOverAndCounted) {
  listen({10, 10});
  const TcpClient first(port_);
  const TcpClient second(port_);
  wait_for_taken(2);
  const ConnectionFacts facts = listener_->facts();
  EXPECT_EQ(facts.open, 2);
  EXPECT_EQ(facts.most, 10);
  EXPECT_EQ(SocketAddress::of_peer(taken_[0].number())->text(), first.name());
  taken_.clear();
  EXPECT_EQ(listener_->facts().open, 0);
}

TEST_F(ConnectionListenerTest, TellsWhatAConnectionHasReceived) {
  listen({10, 10});
  const TcpClient client(port_);
  wait_for_taken(1);
  client.send("abc");
  const std::string peer = "ipv4:" + client.name();
  while (listener_->received(peer)->bytes < 3) std::this_thread::yield();
  EXPECT_FALSE(listener_->received(peer)->is_read);
  EXPECT_FALSE(listener_->received("ipv4:127.0.0.1:1"));
  EXPECT_FALSE(listener_->received("unix:"));
}

TEST_F(ConnectionListenerTest, TooManyAreClosedAndToldOfOnce) {
  listen({3, 2});
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (int i = 0; i < 5; ++i) clients.push_back(std::make_unique<TcpClient>(port_));
  for (int i = 2; i < 5; ++i) EXPECT_TRUE(clients[static_cast<std::size_t>(i)]->is_closed());
  EXPECT_EQ(listener_->facts().refused_by_client, 3);
  listener_->stop();
  EXPECT_THAT(warnings_, ElementsAre("refused 1 connections, the last from 127.0.0.1: of this address 2 are open "
                                     "(--max-connections-per-client)"));
}

TEST_F(ConnectionListenerTest, AServerThatIsFullSaysSo) {
  listen({1, 5});
  const TcpClient first(port_);
  const TcpClient second(port_);
  EXPECT_TRUE(second.is_closed());
  EXPECT_EQ(listener_->facts().refused_by_server, 1);
  listener_->stop();
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("1 are open (--max-connections)")));
}

// While it lives, no descriptor is free.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int first_free = dup(0);
    close(first_free);
    const rlimit none = {static_cast<rlim_t>(first_free), before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST_F(ConnectionListenerTest, WithoutDescriptorsItClosesWhatComesAndGoesOnLater) {
  listen({100, 100});
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(std::make_unique<TcpClient>());
  TcpClient last;
  {
    const NoDescriptors none;
    for (const auto& client : clients) client->connect(port_);
    for (const auto& client : clients) EXPECT_TRUE(client->is_closed());
    EXPECT_EQ(listener_->facts().refused_by_descriptors, 20);
  }
  last.connect(port_);
  wait_for_taken(1);
  listener_->stop();
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("no descriptor is free; raise the limit of open files")));
}

TEST_F(ConnectionListenerTest, ItsOwnQuestionsPassAllLimits) {
  listen({1, 1});
  const TcpClient first(port_);
  wait_for_taken(1);
  for (int i = 0; i < 3; ++i) {
    const Result<void> answered = listener_->ask(std::chrono::minutes(10));
    EXPECT_TRUE(answered) << answered.error().message;
  }
  EXPECT_EQ(listener_->facts().refused_by_server, 0);
  EXPECT_EQ(taken_.size(), 1U);
}

TEST_F(ConnectionListenerTest, StoppedItIsGone) {
  listen({10, 10});
  listener_->stop();
  listener_->stop();
  EXPECT_THAT(listener_->ask(std::chrono::minutes(10)).error().message,
              HasSubstr("127.0.0.1:" + std::to_string(port_) + ": connect"));
}

}  // namespace
}  // namespace znni::rpc
