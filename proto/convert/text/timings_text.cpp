#include "proto/convert/text/timings_text.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "primitives/core/file_handle.hpp"
#include "primitives/core/write_atomically.hpp"
#include "proto/convert/base/errors.hpp"
#include "proto/convert/base/read_file.hpp"
#include "proto/convert/base/text_format.hpp"
#include "proto/convert/text/cut_records.hpp"
#include "proto/convert/text/plan_words.hpp"
#include "proto/timings.pb.h"

namespace znni {
namespace {

// The enums of the messages have the same order as the planner's.
static_assert(static_cast<int>(MemorySpace::device) == text::Timings::device);
static_assert(static_cast<int>(MemorySpace::pinned) == text::Timings::pinned);

Result<void> read_bytes(const text::Timings::Record& written, TimingRecord& record) {
  for (const text::Timings::Bytes& bytes : written.bytes()) {
    if (bytes.transient() < 0 || bytes.persistent() < 0) {
      return corrupt("bytes holds " + std::to_string(std::min(bytes.transient(), bytes.persistent())) +
                     "; 0 or more is right");
    }
    record.memory.push_back({static_cast<MemorySpace>(bytes.space()), bytes.transient(), bytes.persistent()});
  }
  return {};
}

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
  record.waited = written.waited();
  record.refused = written.refused();
  if (record.refused && !record.samples.empty()) return corrupt("refused has samples; one or the other is right");
  if (const Result<void> read = read_bytes(written, record); !read) return read.error();
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
  if (record.waited > 0) written->set_waited(record.waited);
  if (record.refused) written->set_refused(true);
  for (const RecordedBytes& bytes : record.memory) {
    text::Timings::Bytes* own = written->add_bytes();
    own->set_space(static_cast<text::Timings::Space>(bytes.space));
    own->set_transient(bytes.transient);
    own->set_persistent(bytes.persistent);
  }
}

MachineDevice device_of(const text::Timings::Device& written) {
  MachineDevice device;
  device.spec.name = written.name();
  device.spec.kind = written.kind() == text::Timings::gpu ? DeviceKind::gpu : DeviceKind::cpu;
  device.spec.threads = written.threads();
  device.spec.simd_floats = written.simd_floats();
  device.spec.flops_per_second = written.flops_per_second();
  device.spec.bytes_per_second = written.bytes_per_second();
  device.spec.l2_bytes = written.l2_bytes();
  device.spec.l3_bytes = written.l3_bytes();
  device.spec.hertz = written.hertz();
  device.spec.accelerator.tf32_flops_per_second = written.tf32_flops_per_second();
  device.spec.accelerator.bf16_flops_per_second = written.bf16_flops_per_second();
  for (const text::Timings::Memory& memory : written.memory()) {
    device.bytes[static_cast<std::size_t>(memory.space())] = memory.bytes();
  }
  return device;
}

Machine machine_of(const text::Timings::Machine& written) {
  Machine machine;
  machine.name = written.name();
  for (const text::Timings::Device& device : written.device()) machine.devices.push_back(device_of(device));
  for (const text::Timings::Link& link : written.link()) {
    machine.links.push_back({static_cast<MemorySpace>(link.from()), static_cast<MemorySpace>(link.to()),
                             link.bytes_per_second(), link.seconds()});
  }
  return machine;
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

// Returns whether the file's last byte does not end a line, so that an appended record must begin a new one.
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
  if (!written.has_machine()) return result;
  result.machine = machine_of(written.machine());
  if (const Result<void> sound = check(*result.machine); !sound) return sound.error();
  return result;
}

std::string timing_text(const TimingRecord& record) {
  text::Timings written;
  set_record(written.add_record(), record);
  return print_text(written);
}

Result<ReadTimings> read_timings(const std::string& path) {
  const Result<std::string> text = read_file(path, max_text_bytes);
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
