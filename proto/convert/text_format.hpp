// Protobuf's text form, strict: every error is one line that begins with the line number.
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
  std::string message;  // type that lacks it, "inference.ModelConfig"
  std::string field;
};

// Fills `message`; a field it does not have is an error that lists those it has.
[[nodiscard]] Result<void> parse_text(std::string_view text, google::protobuf::Message& message);

// The same, but unknown fields for which `may_skip` is true are skipped and returned, in order.
[[nodiscard]] Result<std::vector<UnknownField>> parse_text_skipping(
    std::string_view text, google::protobuf::Message& message,
    const std::function<bool(const UnknownField&)>& may_skip);

// One field per line; repeated numbers and words in one line: "k: [1, 5, 5]".
[[nodiscard]] std::string print_text(const google::protobuf::Message& message);

}  // namespace znni
