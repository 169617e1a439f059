#include "server/metrics/http_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>

namespace znni {
namespace {

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

TEST_F(HttpServerTest, ItsPortIsFreeWhenItEnds) {
  const int port = server_->port();
  server_.reset();
  EXPECT_TRUE(HttpServer::start("127.0.0.1", port, {}));
}

}  // namespace
}  // namespace znni
