#include "server/metrics/http_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tests/server/rpc/tcp_client.hpp"

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

  // Returns true if the connection is neither answered nor closed.
  [[nodiscard]] bool is_waited_for() const {
    char byte = 0;
    return ::recv(socket_, &byte, 1, MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

 private:
  int socket_;
};

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override { restart({}); }
  void restart(const HttpLimits& limits) {
    HttpPages pages;
    pages.metrics = [] { return HttpAnswer{200, "x 1\n"}; };
    pages.live = [] { return HttpAnswer{200, "ok\n"}; };
    pages.ready = [this] {
      return ready_ ? HttpAnswer{200, "ok\n"} : HttpAnswer{503, "model 'net' is still loading\n"};
    };
    Result<std::unique_ptr<HttpServer>> started = HttpServer::start("127.0.0.1", 0, pages, limits);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }
  httplib::Result get(const std::string& path) {
    httplib::Client client("127.0.0.1", server_->port());
    client.set_read_timeout(std::chrono::minutes(10));
    return client.Get(path);
  }

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
  EXPECT_EQ(client.Post("/v2/x", "x", "text/plain")->status, 404) << "there is no service";
  EXPECT_EQ(client.Put("/metrics", "x", "text/plain")->status, 405);
  EXPECT_EQ(client.Delete("/metrics")->status, 405);
  EXPECT_EQ(client.Options("/metrics")->status, 405);
  EXPECT_EQ(get("/" + std::string(2000, 'x'))->status, 414);
}

// Refuses what the library would make an answer of many parts of, each as long as the page.
TEST_F(HttpServerTest, PartsOfPagesAreNotServed) {
  httplib::Client client("127.0.0.1", server_->port());
  const httplib::Result answer = client.Get("/metrics", {{"Range", "bytes=0-1,0-1,0-1"}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 416);
  EXPECT_EQ(answer->body, "");
}

// Closes the connection: the library would read the body into memory, of any length.
TEST_F(HttpServerTest, ABodyThatNobodyReadsEndsTheConnection) {
  for (const char* line : {"POST /metrics", "PUT /v2/x", "PRI /livez", "POST /v2/%0Ax"}) {
    const rpc::TcpClient client(server_->port());
    client.send(std::string(line) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n");
    EXPECT_TRUE(client.ends()) << line;
  }
}

// Sends a body in two pieces, and counts how many such bodies are gone.
class Pieces final : public HttpBody {
 public:
  explicit Pieces(std::atomic<int>& gone) : gone_(gone) {}
  ~Pieces() override { ++gone_; }
  [[nodiscard]] std::int64_t bytes() const override { return 6; }
  [[nodiscard]] bool write(const TakeBytes& send) override { return send("abc", 3) && send("def", 3); }

 private:
  std::atomic<int>& gone_;
};

class HttpServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    HttpPages pages;
    pages.metrics = pages.live = pages.ready = [] { return HttpAnswer{200, "ok\n"}; };
    pages.service = [this](const HttpRequest& request) { return serve(request); };
    Result<std::unique_ptr<HttpServer>> started = HttpServer::start("127.0.0.1", 0, pages);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }
  HttpReply serve(const HttpRequest& request) {
    HttpReply reply;
    reply.headers.emplace_back("Asked", request.method + " " + request.path);
    reply.headers.emplace_back("Came-From", request.peer);
    reply.headers.emplace_back("Came-To", request.own);
    for (const std::string& value : request.header("x-list")) reply.headers.emplace_back("List", value);
    if (request.path == "/v2/refused") {
      reply.text = "refused";
      reply.discard = true;
      return reply;
    }
    std::size_t left = most_;
    const bool all = request.read([&](const char* data, std::size_t bytes) {
      reply.text.append(data, bytes);
      return bytes <= left && (left -= bytes) > 0;
    });
    EXPECT_EQ(request.read([](const char*, std::size_t) { return true; }), all) << "once read, it says the same again";
    reply.text += all ? "." : "...";
    reply.close = !all;
    if (request.path == "/v2/pieces") reply.body = std::make_shared<Pieces>(gone_);
    return reply;
  }

  std::size_t most_ = 1 << 20;  // bytes that are read of a body
  std::atomic<int> gone_ = 0;   // bodies of answers
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServiceTest, IsToldOfTheRequest) {
  httplib::Client client("127.0.0.1", server_->port());
  const httplib::Result answer =
      client.Post("/v2/a%20b?query", {{"X-List", "1"}, {"X-List", "2"}}, "body", "application/json");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->get_header_value("Asked"), "POST /v2/a b");
  EXPECT_THAT(answer->get_header_value("Came-From"), testing::StartsWith("127.0.0.1:"));
  EXPECT_EQ(answer->get_header_value("Came-To"), "127.0.0.1:" + std::to_string(server_->port()));
  EXPECT_EQ(answer->get_header_value_count("List"), 2U);
  EXPECT_EQ(answer->body, "body.");
  EXPECT_EQ(answer->get_header_value("Content-Type"), "application/json");
  EXPECT_EQ(client.Get("/v2")->body, ".");
  EXPECT_EQ(client.Get("/v22")->status, 404);
}

TEST_F(HttpServiceTest, SendsABodyInPiecesAndLetsItGo) {
  httplib::Client client("127.0.0.1", server_->port());
  client.set_keep_alive(true);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(client.Get("/v2/pieces")->body, "abcdef");
    while (gone_ < i) std::this_thread::yield();
  }
}

// Sends all of it before it reads, as most clients do.
TEST_F(HttpServiceTest, ABodyThatWasNotReadIsDiscarded) {
  httplib::Client client("127.0.0.1", server_->port());
  client.set_keep_alive(true);
  for (int i = 0; i < 2; ++i) {
    const httplib::Result answer = client.Post("/v2/refused", std::string(8 << 20, 'x'), "text/plain");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "refused");
    EXPECT_EQ(answer->get_header_value("Connection"), "");
  }
}

TEST_F(HttpServiceTest, AReplyThatClosesEndsTheConnection) {
  most_ = 10;
  const rpc::TcpClient client(server_->port());
  client.send("POST /v2/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + std::string(20, 'x'));
  EXPECT_TRUE(client.ends());
}

TEST_F(HttpServerTest, APortInUseIsRefusedNotShared) {
  const Result<std::unique_ptr<HttpServer>> second = HttpServer::start("127.0.0.1", server_->port(), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
  EXPECT_THAT(second.error().message, testing::HasSubstr("--metrics-port"));
}

TEST_F(HttpServerTest, AProbeDoesNotWaitForSlowClients) {
  HttpLimits patient;
  patient.idle_timeout = patient.request = std::chrono::hours(1);
  server_.reset();
  restart(patient);
  std::vector<std::unique_ptr<SlowClient>> slow;
  for (int i = 0; i < 8; ++i) slow.push_back(std::make_unique<SlowClient>(server_->port()));
  const httplib::Result answer = get("/livez");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "ok\n");
  for (const std::unique_ptr<SlowClient>& client : slow) EXPECT_TRUE(client->is_waited_for());
}

// Clients that go on sending a byte now and then would keep all threads.
TEST_F(HttpServerTest, AProbeDoesNotWaitForMoreSlowClientsThanThereAreThreads) {
  server_.reset();
  restart({8, 4, std::chrono::hours(1), std::chrono::hours(1)});
  std::vector<std::unique_ptr<SlowClient>> slow;
  for (int i = 0; i < 40; ++i) slow.push_back(std::make_unique<SlowClient>(server_->port()));
  // A client that came behind the probe, which takes a place and leaves it, would find that place free.
  while (server_->facts().over_share < 36) std::this_thread::yield();
  const httplib::Result answer = get("/livez");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "ok\n");
  EXPECT_EQ(server_->facts().over_share, 37);
}

TEST_F(HttpServerTest, ARequestThatTakesTooLongEndsItsConnection) {
  server_.reset();
  restart({8, 4, std::chrono::hours(1), std::chrono::milliseconds(50)});
  const rpc::TcpClient slow(server_->port());
  slow.send("GET /livez");
  EXPECT_TRUE(slow.ends());
  EXPECT_EQ(server_->facts().late, 1);
}

TEST_F(HttpServerTest, AClientThatSendsNoMoreIsAnswered) {
  const rpc::TcpClient client(server_->port());
  client.send("GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  client.send_no_more();
  EXPECT_THAT(client.received(), testing::EndsWith("ok\n"));
}

// Another program may take the port in between, though hardly each time.
TEST_F(HttpServerTest, ItsPortIsFreeWhenItEnds) {
  bool is_free = false;
  for (int i = 0; i < 10 && !is_free; ++i) {
    restart({});
    const int port = server_->port();
    server_.reset();
    is_free = HttpServer::start("127.0.0.1", port, {}).has_value();
  }
  EXPECT_TRUE(is_free);
}

}  // namespace
}  // namespace znni
