#include "server/protobuf_log.hpp"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ProtobufLog, TextThatIsNoUtf8IsALineOfOurs) {
  std::vector<std::string> lines;
  {
    const Log log(LogFormat::json, [&lines](std::string_view line) { lines.emplace_back(line); });
    const ProtobufLog protobuf_log(log);
    google::protobuf::Value value;
    EXPECT_FALSE(value.ParseFromString("\x1a\x02\xff\xfe"));  // string_value
  }
  EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr(R"("level":"warning","message":"protobuf")"),
                                       HasSubstr("contains invalid UTF-8"))));
}

TEST(ProtobufLog, NobodyForgesALine) {
  std::vector<std::string> lines;
  {
    const Log log(LogFormat::text, [&lines](std::string_view line) { lines.emplace_back(line); });
    const ProtobufLog protobuf_log(log);
    GOOGLE_LOG(INFO) << "a\nb";
  }
  EXPECT_THAT(lines, ElementsAre(HasSubstr(R"(protobuf says="a\nb")")));
}

TEST(ProtobufLog, GivesBackTheHandlerThatWasThere) {
  static int told = 0;
  google::protobuf::LogHandler* const mine = [](google::protobuf::LogLevel, const char*, int, const std::string&) {
    ++told;
  };
  google::protobuf::LogHandler* const first = google::protobuf::SetLogHandler(mine);
  {
    const Log log(LogFormat::text, [](std::string_view) {});
    const ProtobufLog protobuf_log(log);
    GOOGLE_LOG(WARNING) << "to the log";
  }
  EXPECT_EQ(told, 0);
  GOOGLE_LOG(WARNING) << "to the handler";
  google::protobuf::SetLogHandler(first);
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace znni
