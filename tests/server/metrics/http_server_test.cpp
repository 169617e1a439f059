#include "server/metrics/http_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <vector>

namespace znni {
namespace {

// A client that has sent half a request.
class SlowClient {
 public:
  explicit SlowClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::send(socket_, "GET /livez", 10, 0), 10);
  }
  ~SlowClient() { ::close(socket_); }
  SlowClient(const SlowClient&) = delete;
  SlowClient& operator=(const SlowClient&) = delete;

  // Neither answered nor closed.
  [[nodiscard]] bool is_waited_for() const {
    char byte = 0;
    return ::recv(socket_, &byte, 1, MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

 private:
  int socket_;
};

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override {
    HttpPages pages;
    pages.metrics = [] { return HttpAnswer{200, "x 1\n"}; };
    pages.live = [] { return HttpAnswer{200, "ok\n"}; };
    pages.ready = [this] {
      return ready_ ? HttpAnswer{200, "ok\n"} : HttpAnswer{503, "model 'net' is still loading\n"};
    };
    Result<std::unique_ptr<HttpServer>> started = HttpServer::start("127.0.0.1", 0, pages);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }
  httplib::Result get(const std::string& path) { return httplib::Client("127.0.0.1", server_->port()).Get(path); }

  std::atomic<bool> ready_ = true;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, PagesAreServed) {
  const httplib::Result metrics = get("/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_EQ(metrics->status, 200);
  EXPECT_EQ(metrics->body, "x 1\n");
  EXPECT_THAT(metrics->get_header_value("Content-Type"), testing::HasSubstr("version=0.0.4"));
  EXPECT_EQ(get("/livez")->body, "ok\n");
  EXPECT_EQ(get("/readyz")->status, 200);
  ready_ = false;
  EXPECT_EQ(get("/readyz")->status, 503);
  EXPECT_EQ(get("/readyz")->body, "model 'net' is still loading\n");
}

TEST_F(HttpServerTest, NothingElseIs) {
  EXPECT_EQ(get("/")->status, 404);
  EXPECT_EQ(get("/../etc/passwd")->status, 404);
  httplib::Client client("127.0.0.1", server_->port());
  EXPECT_EQ(client.Post("/metrics", "x", "text/plain")->status, 404);
}

TEST_F(HttpServerTest, APortInUseIsRefusedNotShared) {
  const Result<std::unique_ptr<HttpServer>> second = HttpServer::start("127.0.0.1", server_->port(), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
  EXPECT_THAT(second.error().message, testing::HasSubstr("--metrics-port"));
}

TEST_F(HttpServerTest, AProbeDoesNotWaitForSlowClients) {
  std::vector<std::unique_ptr<SlowClient>> slow;
  for (int i = 0; i < 8; ++i) slow.push_back(std::make_unique<SlowClient>(server_->port()));
  const httplib::Result answer = get("/livez");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "ok\n");
  for (const std::unique_ptr<SlowClient>& client : slow) EXPECT_TRUE(client->is_waited_for());
}

TEST_F(HttpServerTest, ItsPortIsFreeWhenItEnds) {
  const int port = server_->port();
  server_.reset();
  EXPECT_TRUE(HttpServer::start("127.0.0.1", port, {}));
}

}  // namespace
}  // namespace znni
