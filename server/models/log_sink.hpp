// The layers below the programs report what they do here, one line at a time: they know no logging library.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace znni {

// level: "info", "warning" or "error". Called by one thread at a time; may be empty.
using LogSink = std::function<void(std::string_view level, std::string line)>;

inline void log_to(const LogSink& sink, std::string_view level, std::string line) {
  if (sink) sink(level, std::move(line));
}

}  // namespace znni
