// Writes planes as they arrive, part after part, and a resume record from time to time.
#pragma once

#include <span>
#include <string>

#include "client/cli/parts.hpp"
#include "client/cli/resume.hpp"
#include "client/files/files.hpp"

namespace znni::client {

class RecordedWriter {
 public:
  // Continues `target`, which already holds what `state` says. If there are several parts, `target` must be one in
  // parts.
  RecordedWriter(FileName output, VolumeTarget target, const Parts& parts, ResumeState state);

  // Sets the tokens of the stream whose planes come next. If `token` is "", the stream cannot be resumed: a record is
  // written only of a whole output, which is then finished later.
  void begin(const std::string& token, const std::string& model_token);
  // Writes the next plane of the current part.
  [[nodiscard]] Result<void> write(std::span<const std::byte> plane);
  // Ends the current part, which has all its planes.
  [[nodiscard]] Result<void> end_part();
  // Records what is written, once it is on disk. Once that has failed, no later record is written: the system may tell
  // of what it lost only once.
  [[nodiscard]] Result<void> record();
  [[nodiscard]] Result<void> finish();
  // Returns true if all planes are in the file, so that finish() failed only to rename it.
  [[nodiscard]] bool is_complete() const { return is_complete_; }
  // Removes the partial output. No call may follow.
  void discard() { target_.discard(); }
  // Returns what --resume would keep, "3 of 9 planes" or "2 of 12 parts and 3 of 9 planes"; "" if nothing.
  [[nodiscard]] std::string recorded() const;

 private:
  [[nodiscard]] Result<void> flush();

  FileName output_;
  VolumeTarget target_;
  Parts parts_;
  ResumeState state_;
  std::int64_t recorded_parts_;
  std::int64_t recorded_planes_;  // planes of the part after those
  bool is_complete_ = false;
  bool has_lost_ = false;  // true once a flush has failed
};

// Returns the text of RecordedWriter::recorded() for these numbers.
[[nodiscard]] std::string kept_text(std::int64_t parts_done, std::int64_t planes_done, const Parts& parts);

}  // namespace znni::client
