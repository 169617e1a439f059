// Writes planes as they come, part after part, and a resume record now and then.
#pragma once

#include <span>
#include <string>

#include "client/cli/files.hpp"
#include "client/cli/parts.hpp"
#include "client/cli/resume.hpp"

namespace znni::client {

class RecordedWriter {
 public:
  // `state`: what `target`, in parts where there are several, holds already.
  RecordedWriter(FileName output, VolumeTarget target, const Parts& parts, ResumeState state);

  // Of the stream whose planes come next; "" where it cannot be resumed, so that nothing is recorded.
  void begin(const std::string& token, const std::string& model_token);
  // The next plane of the part under way.
  [[nodiscard]] Result<void> write(std::span<const std::byte> plane);
  // It has all its planes.
  [[nodiscard]] Result<void> end_part();
  [[nodiscard]] Result<void> record();
  [[nodiscard]] Result<void> finish();
  // All planes are in the file: finish() failed only in giving it its name.
  [[nodiscard]] bool is_complete() const { return is_complete_; }
  // Removes what was written. The last call.
  void discard() { target_.discard(); }
  // "3 of 9 planes", "2 of 12 parts and 3 of 9 planes": what --resume can go on after; "" for nothing.
  [[nodiscard]] std::string recorded() const;

 private:
  FileName output_;
  VolumeTarget target_;
  Parts parts_;
  ResumeState state_;
  std::int64_t recorded_parts_;
  std::int64_t recorded_planes_;  // of the part behind those
  bool is_complete_ = false;
};

// As RecordedWriter::recorded().
[[nodiscard]] std::string kept_text(std::int64_t parts_done, std::int64_t planes_done, const Parts& parts);

}  // namespace znni::client
