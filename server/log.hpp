// The daemon's log: one line per event, as text or as JSON. The only user of the logging library. Libraries
// below server/rpc do not log: they return errors.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace znni {

enum class LogFormat { text, json };
enum class LogLevel { info, warning, error };

// Value of a field: escaped where it holds anything but printable characters, so that what a client sent can
// never forge a line. Numbers stand bare in JSON, and so do sizes, in bytes.
struct LogField {
  LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
  LogField(std::string_view name, const char* text) : key(name), value(text) {}
  LogField(std::string_view name, std::int64_t count);
  LogField(std::string_view name, int count) : LogField(name, static_cast<std::int64_t>(count)) {}
  LogField(std::string_view name, double quantity);  // four significant digits

  // Makes a field "1.50 GiB"; in JSON it is the number of bytes.
  [[nodiscard]] static LogField size(std::string_view name, std::int64_t bytes);
  // Returns a field of an option's text. In JSON it is a number or a boolean if it reads as one, even a name or a path.
  [[nodiscard]] static LogField setting(std::string_view name, std::string_view text);

  std::string key;
  std::string value;
  bool is_number = false;
  std::string json = {};  // "": as `value` says
};
using LogFields = std::initializer_list<LogField>;

// Returns "message key=value key2=\"a b\"", without time and level.
[[nodiscard]] std::string text_line(std::string_view message, LogFields fields);
// Returns {"time":...,"level":"info","message":...,"key":...}
[[nodiscard]] std::string json_line(std::string_view time, LogLevel level, std::string_view message, LogFields fields);

// Lines are written by a thread of their own; if it cannot keep up, it drops the oldest waiting lines rather than hold
// up requests. A line says how many when it can be written. Thread safe.
class Log {
 public:
  // Writes to standard error.
  explicit Log(LogFormat format);
  // Writes to `descriptor`, which stays the caller's; destruction waits for a reader no longer than `patience`.
  Log(LogFormat format, int descriptor, std::chrono::milliseconds patience);
  // Hands complete lines, without newline, to `write`, on the log's thread; up to `waiting` wait for it: for tests.
  Log(LogFormat format, std::function<void(std::string_view)> write, std::size_t waiting = max_waiting);
  ~Log();  // writes what is waiting
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void info(std::string_view message, LogFields fields = {}) const { write(LogLevel::info, message, fields); }
  void warning(std::string_view message, LogFields fields = {}) const { write(LogLevel::warning, message, fields); }
  void error(std::string_view message, LogFields fields = {}) const { write(LogLevel::error, message, fields); }

 private:
  static constexpr std::size_t max_waiting = 8192;
  struct State;
  void write(LogLevel level, std::string_view message, LogFields fields) const;
  std::unique_ptr<State> state_;
};

}  // namespace znni
