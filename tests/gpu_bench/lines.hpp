// Results as JSON lines, one per measurement, written at once: an interrupted run loses nothing.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace znni::gpu_bench {

class Line {
 public:
  explicit Line(std::string_view block) { text("block", block); }
  Line& text(std::string_view name, std::string_view value) {
    std::string quoted = "\"";
    for (const char letter : value) {
      if (letter == '"' || letter == '\\') quoted += '\\';
      quoted += letter < ' ' ? ' ' : letter;
    }
    return raw(name, quoted + "\"");
  }
  Line& number(std::string_view name, double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return raw(name, text);
  }
  void print() const {
    std::printf("{%s}\n", fields_.c_str());
    std::fflush(stdout);
  }

 private:
  Line& raw(std::string_view name, const std::string& value) {
    fields_ += (fields_.empty() ? "\"" : ", \"") + std::string(name) + "\": " + value;
    return *this;
  }
  std::string fields_;
};

}  // namespace znni::gpu_bench
