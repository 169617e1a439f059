// Scans protobuf's text form character by character and tells text from quotes and comments.
#pragma once

namespace znni {

class TextScan {
 public:
  // Takes the next character. Returns whether it is outside quotes and comments; their delimiters count as inside.
  bool take(char c) {
    if (escaped_) {
      escaped_ = false;
    } else if (quote_ != 0) {
      escaped_ = c == '\\';
      if (c == quote_) quote_ = 0;
    } else if (comment_) {
      comment_ = c != '\n';
    } else {
      if (c == '"' || c == '\'') quote_ = c;
      comment_ = c == '#';
      return quote_ == 0 && !comment_;
    }
    return false;
  }
  [[nodiscard]] bool is_in_quotes() const { return quote_ != 0; }

 private:
  char quote_ = 0;
  bool escaped_ = false;
  bool comment_ = false;
};

}  // namespace znni
