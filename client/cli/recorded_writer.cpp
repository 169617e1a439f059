#include "client/cli/recorded_writer.hpp"

#include <utility>

namespace znni::client {
namespace {

// Planes between two records: each waits for the disk.
constexpr std::int64_t planes_per_record = 32;

}  // namespace

RecordedWriter::RecordedWriter(FileName output, VolumeTarget target, const Parts& parts, ResumeState state)
    : output_(std::move(output)),
      target_(std::move(target)),
      parts_(parts),
      state_(std::move(state)),
      recorded_parts_(state_.parts_done),
      recorded_planes_(state_.planes_done) {}

void RecordedWriter::begin(const std::string& token, const std::string& model_token) {
  state_.token = token;
  state_.model_token = model_token;
}

Result<void> RecordedWriter::write(std::span<const std::byte> plane) {
  const Box box = parts_.box(state_.parts_done);
  if (Result<void> written = target_.write_plane(state_.planes_done, box, plane); !written) return written;
  ++state_.planes_done;
  const std::int64_t before = recorded_parts_ == state_.parts_done ? recorded_planes_ : 0;
  const bool is_due = !state_.token.empty() && state_.planes_done - before >= planes_per_record;
  return is_due && state_.planes_done % target_.planes_at_once == 0 ? record() : Result<void>();
}

Result<void> RecordedWriter::end_part() {
  if (parts_.count() == 1) return {};
  ++state_.parts_done;
  state_.planes_done = 0;
  return record();
}

Result<void> RecordedWriter::record() {
  const bool is_new = state_.parts_done != recorded_parts_ || state_.planes_done != recorded_planes_;
  const bool is_whole = parts_.count() == 1 && state_.planes_done == parts_.n.z;
  if (!is_new || has_lost_ || (state_.token.empty() && !is_whole)) return {};
  if (Result<void> flushed = flush(); !flushed) return flushed;
  if (Result<void> written = write_resume(output_, state_); !written) return written;
  recorded_parts_ = state_.parts_done;
  recorded_planes_ = state_.planes_done;
  return {};
}

Result<void> RecordedWriter::finish() {
  // With this record, a run that is killed before the record is removed is known to be complete.
  // An output without a token has no earlier one, and is worth to be finished without.
  const Result<void> recorded = record();
  if (!recorded && (has_lost_ || !state_.token.empty())) return recorded;
  if (Result<void> flushed = flush(); !flushed) return flushed;
  is_complete_ = true;
  if (Result<void> finished = target_.finish(); !finished) return finished;
  remove_resume(output_);
  return {};
}

Result<void> RecordedWriter::flush() {
  Result<void> flushed = target_.flush();
  if (!flushed) has_lost_ = true;
  return flushed;
}

std::string RecordedWriter::recorded() const {
  return recorded_parts_ + recorded_planes_ == 0 ? "" : kept_text(recorded_parts_, recorded_planes_, parts_);
}

std::string kept_text(std::int64_t parts_done, std::int64_t planes_done, const Parts& parts) {
  const std::string planes = std::to_string(planes_done) + " of " + std::to_string(parts.n.z) + " planes";
  if (parts.count() == 1) return planes;
  return std::to_string(parts_done) + " of " + std::to_string(parts.count()) + " parts and " + planes;
}

}  // namespace znni::client
