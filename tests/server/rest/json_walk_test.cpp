#include "server/rest/json_walk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace znni::rest {
namespace {

using testing::HasSubstr;

// Writes down what it is told.
class Log final : public JsonEvents {
 public:
  Result<void> open(JsonKind kind, std::size_t position) override {
    text += (kind == JsonKind::object ? "{" : "[") + std::to_string(position);
    return {};
  }
  Result<void> close(std::size_t position) override {
    text += "]" + std::to_string(position);
    return {};
  }
  Result<void> key(std::string_view name) override {
    text += std::string(name) + "=";
    return name == "stop" ? Result<void>(Error{ErrorCode::unsupported, "stopped"}) : Result<void>();
  }
  Result<void> value(const JsonValue& value) override {
    text += std::to_string(value.index()) + ",";
    return {};
  }

  std::string text;
};

Error refusal_of(const std::string& json) {
  Log log;
  const Result<void> walked = walk_json(json, log);
  EXPECT_FALSE(walked) << json.substr(0, 80);
  return walked ? Error{} : walked.error();
}

TEST(JsonWalk, TellsAllInItsOrderWithPositions) {
  Log log;
  ASSERT_TRUE(walk_json(R"({"a": [null, true, -1, 2, 0.5, "x"], "b": {}})", log));
  EXPECT_EQ(log.text, "{1a=[70,1,2,3,4,5,]35b={43]44]45");
}

TEST(JsonWalk, PositionsEncloseAnArray) {
  const std::string json = R"({"data":[1,2,30],"x":1})";
  Log log;
  ASSERT_TRUE(walk_json(json, log));
  EXPECT_EQ(log.text, "{1data=[93,3,3,]16x=3,]23");
  EXPECT_EQ(json.substr(8, 16 - 8), "[1,2,30]");
}

TEST(JsonWalk, WhatIsNoJsonIsRefusedWithItsPosition) {
  for (const char* json : {"", " ", "{", "[1,]", "[1 2]", "{\"a\" 1}", "{a:1}", "[1]x", "nan", "[NaN]", "[Infinity]",
                           "'a'", "[01]", "\"\xff\"", "[1e999]", "/* */ 1", "\x01"}) {
    EXPECT_EQ(refusal_of(json).code, ErrorCode::invalid_argument) << json;
    EXPECT_THAT(refusal_of(json).message, HasSubstr("of the JSON")) << json;
  }
  EXPECT_THAT(refusal_of("[1,2,x]").message, HasSubstr("at byte 6 "));
}

TEST(JsonWalk, DeepNestingIsRefused) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
  };
  Log log;
  EXPECT_TRUE(walk_json(nested(max_json_depth), log));
  EXPECT_THAT(refusal_of(nested(max_json_depth + 1)).message, HasSubstr("nested deeper than 32"));
  EXPECT_THAT(refusal_of(std::string(1 << 20, '[')).message, HasSubstr("nested deeper than 32"));
  EXPECT_THAT(refusal_of(std::string(1 << 20, '{')).message, HasSubstr("syntax error"));
}

// Bounds texts and numbers: the parser keeps the bytes of a value, twice.
TEST(JsonWalk, AValueWithoutEndIsRefused) {
  Log log;
  EXPECT_TRUE(walk_json("\"" + std::string(max_value_bytes - 10, 'x') + "\"", log));
  for (const char begin : {'"', '1', ' '}) {
    const Error error =
        refusal_of("[0," + std::string(1, begin) + std::string(max_value_bytes, begin == '"' ? 'x' : begin));
    EXPECT_THAT(error.message, HasSubstr("a value of more than 65536 bytes at byte 3 ")) << begin;
  }
}

TEST(JsonWalk, ManyValuesAreNotALongOne) {
  std::string json = "[0";
  while (json.size() < 3 * max_value_bytes) json += ", 0";
  Log log;
  EXPECT_TRUE(walk_json(json + "]", log));
}

TEST(JsonWalk, AnErrorOfAnEventEndsIt) {
  const Error error = refusal_of(R"({"stop": 1, "more": 2})");
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_EQ(error.message, "stopped");
}

}  // namespace
}  // namespace znni::rest
