#include "server/call_log.hpp"

namespace znni {
namespace {

constexpr std::chrono::seconds one_second{1};

// Logs the record of a request: where its time went, and how it ended.
void log_call(const Log& log, const rpc::CallRecord& call) {
  if (call.code == "OK") {
    log.info("call", {{"method", call.method},
                      {"model", call.model},
                      {"version", call.version},
                      {"id", call.id},
                      {"code", call.code},
                      {"seconds", call.seconds},
                      {"receive_seconds", call.receive_seconds},
                      {"queue_seconds", call.queue_seconds},
                      {"compute_seconds", call.compute_seconds},
                      {"send_seconds", call.send_seconds},
                      {"input_wait_seconds", call.input_wait_seconds},
                      {"output_wait_seconds", call.output_wait_seconds},
                      {"bytes_in", call.bytes_in},
                      {"bytes_out", call.bytes_out},
                      {"voxels", call.voxels},
                      {"patches", call.patches},
                      {"nonfinite_voxels", call.nonfinite_voxels},
                      {"layers", call.layers}});
    return;
  }
  log.warning("call", {{"method", call.method},
                       {"model", call.model},
                       {"version", call.version},
                       {"id", call.id},
                       {"code", call.code},
                       {"seconds", call.seconds},
                       {"receive_seconds", call.receive_seconds},
                       {"bytes_in", call.bytes_in},
                       {"bytes_out", call.bytes_out},
                       {"reason", call.reason}});
}

}  // namespace

CallLog::CallLog(const Log& log, Clock clock) : log_(log), clock_(std::move(clock)) {}

CallLog::~CallLog() {
  for (auto& [key, second] : seconds_) end(key, second);
}

void CallLog::add(const rpc::CallRecord& call) {
  if (call.code == "OK" || may_write(call)) log_call(log_, call);
}

void CallLog::tick() {
  const std::scoped_lock lock(mutex_);
  const auto now = clock_();
  std::erase_if(seconds_, [&](const auto& entry) {
    if (now - entry.second.begin < one_second) return false;
    end(entry.first, entry.second);
    return true;
  });
}

bool CallLog::may_write(const rpc::CallRecord& call) {
  const std::scoped_lock lock(mutex_);
  const Key key(call.method, call.code);
  const auto now = clock_();
  Second& second = seconds_.try_emplace(key, Second{now}).first->second;
  if (now - second.begin >= one_second) {
    end(key, second);
    second = {now};
  }
  const bool writes = second.lines < max_refused_lines;
  ++(writes ? second.lines : second.left_out);
  return writes;
}

void CallLog::end(const Key& key, const Second& second) const {
  if (second.left_out == 0) return;
  log_.warning("calls without a line each", {{"method", key.first}, {"code", key.second}, {"count", second.left_out}});
}

}  // namespace znni
