// Reads and prints protobuf's text form. Reading is strict; every error is one line that begins with the line number.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <google/protobuf/message.h>

#include "primitives/core/result.hpp"

namespace znni {

// A field of the text that the message does not have.
struct UnknownField {
  int line = 0;         // from 1
  std::string message;  // type that lacks the field, "inference.ModelConfig"
  std::string field;
  int element = -1;  // of the repeated field that has messages of that type; -1 if no field of the whole has
};

// Fills `message`. A field that the message does not have is an error, which lists the fields that it has.
[[nodiscard]] Result<void> parse_text(std::string_view text, google::protobuf::Message& message);

// Does the same, but skips unknown fields for which `may_skip` is true. Returns them in order.
[[nodiscard]] Result<std::vector<UnknownField>> parse_text_skipping(
    std::string_view text, google::protobuf::Message& message,
    const std::function<bool(const UnknownField&)>& may_skip);

// Returns the text, one field per line. Repeated numbers and words share a line: "k: [1, 5, 5]".
[[nodiscard]] std::string print_text(const google::protobuf::Message& message);

}  // namespace znni
