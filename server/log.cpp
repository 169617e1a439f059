#include "server/log.hpp"

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <mutex>
#include <utility>

#include "primitives/core/shape.hpp"
#include "server/escape.hpp"
#include "server/line_writer.hpp"

namespace znni {
namespace {

// Longest time between a request to end and the end of a daemon whose standard error has no room.
constexpr std::chrono::milliseconds last_lines{2000};

bool stands_bare(std::string_view text) {
  const auto plain = [](char c) { return c > ' ' && c < 0x7F && c != '"' && c != '\\' && c != '='; };
  return !text.empty() && std::all_of(text.begin(), text.end(), plain);
}

// Returns true for -1, 0 and 2.5, but not for 007 nor for what C++ alone reads as a number.
bool is_json_number(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  const bool leads = !digits.empty() && digits.front() >= '0' && digits.front() <= '9';
  if (!leads || (digits.size() > 1 && digits[0] == '0' && digits[1] != '.') || digits.back() == '.') return false;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  return error == std::errc() && end == text.data() + text.size();
}

// Returns true for a number, and for a truth value.
bool is_json_setting(std::string_view text) { return text == "true" || text == "false" || is_json_number(text); }

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
  }
  return "info";
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string utc_now() {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto days = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss time(now - days);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count(), time.subseconds().count());
}

}  // namespace

LogField::LogField(std::string_view name, std::int64_t count)
    : key(name), value(std::to_string(count)), is_number(true) {}

LogField::LogField(std::string_view name, double quantity)
    : key(name), value(std::isfinite(quantity) ? fmt::format("{:.4g}", quantity) : "null"), is_number(true) {}

LogField LogField::size(std::string_view name, std::int64_t bytes) {
  LogField field(name, bytes_text(bytes));
  field.json = std::to_string(bytes);
  return field;
}

LogField LogField::setting(std::string_view name, std::string_view text) {
  LogField field(name, text);
  if (is_json_setting(text)) field.json = text;
  return field;
}

std::string text_line(std::string_view message, LogFields fields) {
  std::string line = json_text(message);
  line = line.substr(1, line.size() - 2);
  for (const LogField& field : fields) {
    line +=
        ' ' + field.key + '=' + (field.is_number || stands_bare(field.value) ? field.value : json_text(field.value));
  }
  return line;
}

std::string json_line(std::string_view time, LogLevel level, std::string_view message, LogFields fields) {
  std::string line =
      fmt::format(R"({{"time":{},"level":"{}","message":{})", json_text(time), name_of(level), json_text(message));
  for (const LogField& field : fields) {
    const std::string own = field.is_number ? field.value : json_text(field.value);
    line += fmt::format(",{}:{}", json_text(field.key), field.json.empty() ? own : field.json);
  }
  line += '}';
  return line;
}

namespace {

// Returns a line as the library wants it: text without time and level, which its pattern adds, or all of the JSON.
std::string payload(LogFormat format, LogLevel level, std::string_view message, LogFields fields) {
  return format == LogFormat::json ? json_line(utc_now(), level, message, fields) : text_line(message, fields);
}

// Passes formatted lines on, without the newline; before the first line after some were dropped, one that counts them.
class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // Sends lines to `write` on a thread of `pool`, which outlives the use of the sink.
  FunctionSink(LogFormat format, std::function<void(std::string_view)> write, spdlog::details::thread_pool& pool)
      : format_(format), write_(std::move(write)), pool_(pool) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::size_t dropped = pool_.overrun_counter();
    if (dropped > told_) {
      const auto count = static_cast<std::int64_t>(dropped - std::exchange(told_, dropped));
      const std::string notice = payload(format_, LogLevel::warning, drop_notice, {{"count", count}});
      pass_on({message.logger_name, spdlog::level::warn, notice});
    }
    pass_on(message);
  }
  void flush_() override {}
  void pass_on(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string_view text(line.data(), line.size());
    while (text.ends_with('\n')) text.remove_suffix(1);
    write_(text);
  }

  static constexpr std::string_view drop_notice = "log lines were dropped: what reads the log is too slow";
  LogFormat format_;
  std::function<void(std::string_view)> write_;
  spdlog::details::thread_pool& pool_;
  std::size_t told_ = 0;
};

}  // namespace

struct Log::State {
  State(LogFormat format_of, std::function<void(std::string_view)> write, std::size_t waiting)
      : format(format_of),
        pool(std::make_shared<spdlog::details::thread_pool>(waiting, 1)),
        logger(std::make_shared<spdlog::async_logger>("znnid",
                                                      std::make_shared<FunctionSink>(format, std::move(write), *pool),
                                                      pool, spdlog::async_overflow_policy::overrun_oldest)) {
    logger->set_level(spdlog::level::info);
    if (format == LogFormat::json) {
      logger->set_pattern("%v");
    } else {
      logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
    }
  }
  State(LogFormat format_of, int descriptor, std::chrono::milliseconds patience)
      : State(
            format_of, [this](std::string_view line) { writer->write(line); }, max_waiting) {
    writer = std::make_unique<LineWriter>(descriptor, patience);
  }
  ~State() {
    if (writer) writer->hurry();
  }

  LogFormat format;
  std::unique_ptr<LineWriter> writer;                  // outlives the thread that uses it
  std::shared_ptr<spdlog::details::thread_pool> pool;  // shared: the library keeps one too
  std::shared_ptr<spdlog::async_logger> logger;        // shared: its queue holds it while lines wait
};

Log::Log(LogFormat format) : Log(format, STDERR_FILENO, last_lines) {}

Log::Log(LogFormat format, int descriptor, std::chrono::milliseconds patience)
    : state_(std::make_unique<State>(format, descriptor, patience)) {}

Log::Log(LogFormat format, std::function<void(std::string_view)> write, std::size_t waiting)
    : state_(std::make_unique<State>(format, std::move(write), waiting)) {}

Log::~Log() = default;

void Log::write(LogLevel level, std::string_view message, LogFields fields) const {
  const std::string line = payload(state_->format, level, message, fields);
  state_->logger->log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace znni
