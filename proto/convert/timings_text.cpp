#include "proto/convert/timings_text.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "proto/convert/cut_records.hpp"
#include "proto/convert/errors.hpp"
#include "proto/convert/file_handle.hpp"
#include "proto/convert/plan_words.hpp"
#include "proto/convert/read_file.hpp"
#include "proto/convert/text_format.hpp"
#include "proto/convert/write_atomically.hpp"
#include "proto/timings.pb.h"

namespace znni {
namespace {

Result<TimingRecord> record_of(const text::Timings::Record& written) {
  const Result<Format> in = parse_format("in", written.in());
  if (!in) return in.error();
  const Result<Format> out = parse_format("out", written.out());
  if (!out) return out.error();
  if (written.primitive().empty() || written.problem().empty()) return corrupt("primitive or problem is missing");
  for (const double sample : written.samples()) {
    if (!std::isfinite(sample) || sample < 0) return corrupt("samples hold " + std::to_string(sample));
  }
  TimingRecord record;
  record.primitive = written.primitive();
  record.version = written.version();
  record.variant = variant_of(written.setting());
  record.in = *in;
  record.out = *out;
  record.problem = written.problem();
  record.device = written.device();
  record.threads = written.threads();
  record.samples.assign(written.samples().begin(), written.samples().end());
  record.unix_seconds = written.unix_seconds();
  record.modelled = written.modelled();
  return record;
}

void set_record(text::Timings::Record* written, const TimingRecord& record) {
  written->set_primitive(record.primitive);
  written->set_version(record.version);
  set_variant(written->mutable_setting(), record.variant);
  written->set_in(to_string(record.in));
  written->set_out(to_string(record.out));
  written->set_problem(record.problem);
  written->set_device(record.device);
  written->set_threads(record.threads);
  for (const Seconds sample : record.samples) written->add_samples(sample);
  written->set_unix_seconds(record.unix_seconds);
  written->set_modelled(record.modelled);
}

Result<void> parse_without_cut_records(std::string_view text, text::Timings& written,
                                       std::vector<std::string>& warnings) {
  Result<void> whole = parse_text(text, written);
  if (whole) return whole;
  const WithoutCutRecords rest = without_cut_records(text);
  if (rest.lines.empty()) return whole;
  for (const int line : rest.lines) {
    warnings.push_back("line " + std::to_string(line) + ": a record is cut short and left out");
  }
  written.Clear();
  return parse_text(rest.text, written);
}

// Whether the file's last byte is something else than the end of a line: what follows must begin a new one.
bool ends_within_line(int file) {
  const off_t bytes = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  return bytes > 0 && ::pread(file, &last, 1, bytes - 1) == 1 && last != '\n';
}

}  // namespace

Result<ReadTimings> parse_timings(std::string_view text) {
  ReadTimings result;
  text::Timings written;
  if (const Result<void> parsed = parse_without_cut_records(text, written, result.warnings); !parsed) {
    return parsed.error();
  }
  for (int i = 0; i < written.record_size(); ++i) {
    Result<TimingRecord> record = record_of(written.record(i));
    if (!record) return record.error().within("record " + std::to_string(i));
    result.timings.insert(*std::move(record));
  }
  return result;
}

std::string timing_text(const TimingRecord& record) {
  text::Timings written;
  set_record(written.add_record(), record);
  return print_text(written);
}

Result<ReadTimings> read_timings(const std::string& path) {
  const Result<std::string> text = read_file(path, most_text_bytes);
  if (!text && text.error().code == ErrorCode::not_found) return ReadTimings{};
  if (!text) return text.error();
  Result<ReadTimings> read = parse_timings(*text);
  if (!read) return read.error().within(path);
  for (std::string& warning : read->warnings) warning.insert(0, path + ": ");
  return read;
}

Result<void> append_timing(const std::string& path, const TimingRecord& record) {
  constexpr mode_t readable_by_all = 0644;
  FileHandle file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, readable_by_all));
  if (!file.is_open()) {
    return Error{ErrorCode::invalid_argument, path + ": cannot be opened: " + std::strerror(errno)};
  }
  std::string text = timing_text(record);
  if (ends_within_line(file.get())) text.insert(text.begin(), '\n');
  if (const Result<void> written = write_all(file.get(), text); !written) return written.error().within(path);
  if (!file.close()) return Error{ErrorCode::invalid_argument, path + ": cannot be written: " + std::strerror(errno)};
  return {};
}

Result<void> write_timings(const std::string& path, const Timings& timings) {
  text::Timings written;
  for (const TimingRecord& record : timings.records()) set_record(written.add_record(), record);
  return write_atomically(path, print_text(written));
}

}  // namespace znni
