#include "server/log.hpp"

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <utility>

#include "server/escape.hpp"

namespace znni {
namespace {

constexpr std::size_t waiting_lines = 8192;

bool stands_bare(std::string_view text) {
  const auto plain = [](char c) { return c > ' ' && c < 0x7F && c != '"' && c != '\\' && c != '='; };
  return !text.empty() && std::all_of(text.begin(), text.end(), plain);
}

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

// Passes formatted lines on, without the newline.
class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(std::function<void(std::string_view)> write) : write_(std::move(write)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string_view text(line.data(), line.size());
    while (text.ends_with('\n')) text.remove_suffix(1);
    write_(text);
  }
  void flush_() override {}
  std::function<void(std::string_view)> write_;
};

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
    line += fmt::format(",{}:{}", json_text(field.key), field.is_number ? field.value : json_text(field.value));
  }
  line += '}';
  return line;
}

struct Log::State {
  State(LogFormat format_of, spdlog::sink_ptr sink)
      : format(format_of),
        pool(std::make_shared<spdlog::details::thread_pool>(waiting_lines, 1)),
        logger(std::make_shared<spdlog::async_logger>("znnid", std::move(sink), pool,
                                                      spdlog::async_overflow_policy::overrun_oldest)) {
    logger->set_level(spdlog::level::info);
    if (format == LogFormat::json) {
      logger->set_pattern("%v");
    } else {
      logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
    }
    logger->flush_on(spdlog::level::info);
  }

  LogFormat format;
  std::shared_ptr<spdlog::details::thread_pool> pool;  // shared: the library keeps one too
  std::shared_ptr<spdlog::async_logger> logger;        // shared: its queue holds it while lines wait
};

Log::Log(LogFormat format)
    : state_(std::make_unique<State>(format, std::make_shared<spdlog::sinks::stderr_sink_mt>())) {}

Log::Log(LogFormat format, std::function<void(std::string_view)> write)
    : state_(std::make_unique<State>(format, std::make_shared<FunctionSink>(std::move(write)))) {}

Log::~Log() = default;

void Log::write(LogLevel level, std::string_view message, LogFields fields) const {
  const std::string line =
      state_->format == LogFormat::json ? json_line(utc_now(), level, message, fields) : text_line(message, fields);
  state_->logger->log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace znni
