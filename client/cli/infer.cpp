#include "client/cli/infer.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "client/cli/files.hpp"
#include "client/cli/progress.hpp"
#include "client/cli/resume.hpp"
#include "client/cpp/volume_client.hpp"

namespace znni::client {
namespace {

// Planes between two resume records: each costs a flush.
constexpr std::int64_t planes_per_record = 32;

// Everything known before the first byte is sent.
struct Job {
  Options options;
  FileName output;
  VolumeSource source;
  ModelFacts model;
  Box box;
  PaddedExtent extent;
  Vec3 n_out;
  JobIdentity identity;
  std::int64_t planes_done = 0;  // of an earlier, interrupted run
  std::string token;             // of that run's stream
};

Result<void> check_model(const Job& job) {
  if (job.source.facts.channels != job.model.f_in) {
    return Error{ErrorCode::invalid_argument, job.options.input + ": has " + std::to_string(job.source.facts.channels) +
                                                  " images, model '" + job.model.name + "' takes " +
                                                  std::to_string(job.model.f_in)};
  }
  if (!covers(job.extent.outer, job.model.field_of_view)) {
    return Error{ErrorCode::invalid_argument,
                 job.options.input + ": " + to_string(job.extent.outer) + " voxels are less than the field of view " +
                     to_string(job.model.field_of_view) + " of model '" + job.model.name + "'; try --padding reflect"};
  }
  return {};
}

// Enough digits that other numbers read otherwise.
std::string number_text(float value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", static_cast<double>(value));
  return text.data();
}

std::string state_of(const std::string& path) {
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(path, unknown);
  const auto changed = std::filesystem::last_write_time(path, unknown).time_since_epoch().count();
  return std::to_string(bytes) + " bytes, " + std::to_string(changed);
}

JobIdentity identity_of(const Job& job) {
  const Options& options = job.options;
  const bool own = options.scale.has_value();
  return {options.input,
          options.model,
          job.model.version,
          to_string(job.box),
          to_string(options.padding),
          numpy_name(options.dtype),
          own ? number_text(*options.scale) + "," + number_text(*options.offset) : "model",
          state_of(parse_file_name(options.input).path),
          std::to_string(job.model.f_out) + " images, field of view " + to_string(job.model.field_of_view)};
}

// --resume where no run was interrupted: the job begins anew, unless its output is there in full. So whoever starts a
// job again and again, as a supervisor does, may always say --resume.
Result<ResumeState> begun_anew(const Job& job) {
  if (output_exists(job.output)) {
    return Error{
        ErrorCode::invalid_argument,
        job.options.output + ": is there already, in full: add --overwrite in place of --resume to compute it again"};
  }
  std::fprintf(stderr, "znni: --resume: nothing to resume for %s: beginning anew\n", job.options.output.c_str());
  return ResumeState{};
}

// What an earlier run left, when --resume asks to go on with it. Without that, an interrupted output
// is not thrown away unless --overwrite says so.
Result<ResumeState> resumed(const Job& job) {
  const Options& options = job.options;
  if (options.overwrite) return ResumeState{};
  const Result<std::optional<ResumeState>> state = read_resume(job.output);
  if (!state) return state.error();
  if (!state->has_value()) {
    return options.resume ? begun_anew(job) : ResumeState{};
  }
  const ResumeState& found = **state;
  if (!options.resume) {
    return Error{ErrorCode::invalid_argument,
                 options.output + ": " + std::to_string(found.planes_done) + " of " + std::to_string(found.planes) +
                     " planes are there already: add --resume, or --overwrite to start over"};
  }
  const std::string changed = difference(found.job, job.identity);
  if (!changed.empty()) return Error{ErrorCode::invalid_argument, "--resume: another job was begun: " + changed};
  if (found.planes != job.n_out.z)
    return Error{ErrorCode::corrupt_file, resume_path(job.output) + ": not of this output"};
  return found;
}

// What can be refused before the daemon is asked.
Result<void> check_files(const Options& options, const FileName& output) {
  if (output_exists(output) && !options.overwrite && !options.resume) {
    return Error{ErrorCode::invalid_argument, options.output + ": is there already: add --overwrite or name another"};
  }
  std::error_code unknown;
  if (std::filesystem::equivalent(parse_file_name(options.input).path, output.path, unknown)) {
    return Error{ErrorCode::invalid_argument, options.output + ": input and output must be different files"};
  }
  return {};
}

Result<Job> make_job(const Options& options, const Connection& connection) {
  Job job{options, parse_file_name(options.output), {}, {}, {}, {}, {}, {}, 0, {}};
  if (Result<void> sound = check_files(options, job.output); !sound) return sound.error();
  Result<VolumeSource> source = open_source(parse_file_name(options.input));
  if (!source) return source.error();
  job.source = std::move(*source);
  const Result<Box> box = parse_bbox(options.bbox, job.source.facts.n);
  if (!box) return box.error();
  job.box = *box;
  const Result<ModelFacts> model = connection.model(options.model, options.version);
  if (!model) return model.error();
  job.model = *model;
  job.extent = pad(options.padding, box->extent(), model->field_of_view);
  if (Result<void> fits = check_model(job); !fits) return fits.error();
  job.n_out = job.extent.outer - model->field_of_view + Vec3::cube(1);
  const VolumeFacts facts{model->f_out, job.n_out, options.dtype};
  if (Result<void> sound = check_target(job.output, facts); !sound) return sound.error();
  job.identity = identity_of(job);
  const Result<ResumeState> done = resumed(job);
  if (!done) return done.error();
  job.planes_done = done->planes_done;
  job.token = done->token;
  return job;
}

// Reads one padded plane after another, normalised where --scale asks for it.
class PaddedReader {
 public:
  explicit PaddedReader(const Job& job)
      : job_(job),
        bytes_(voxel_bytes(job.source.facts.type)),
        inner_(size(voxels(inner_plane()))),
        outer_(size(voxels(outer_plane()))) {}

  Result<void> read(std::int64_t plane, std::span<std::byte> out) {
    std::fill(outer_.begin(), outer_.end(), std::byte{0});
    if (const auto z = source_position(job_.extent, 0, plane)) {
      if (Result<void> done = job_.source.read_plane(*z + job_.box.start.z, job_.box, inner_); !done) return done;
      spread();
    }
    deliver(out);
    return {};
  }

 private:
  [[nodiscard]] Vec3 inner_plane() const {
    return {job_.source.facts.channels, job_.extent.inner.y, job_.extent.inner.x};
  }
  [[nodiscard]] Vec3 outer_plane() const {
    return {job_.source.facts.channels, job_.extent.outer.y, job_.extent.outer.x};
  }
  [[nodiscard]] std::size_t size(std::int64_t count) const { return static_cast<std::size_t>(count * bytes_); }

  // inner_ to outer_, rows and columns padded.
  void spread() {
    const Vec3 inner = inner_plane();
    const Vec3 outer = outer_plane();
    for (std::int64_t row = 0; row < outer.z * outer.y; ++row) {
      const auto y = source_position(job_.extent, 1, row % outer.y);
      if (!y) continue;
      const std::byte* from = inner_.data() + ((row / outer.y) * inner.y + *y) * inner.x * bytes_;
      std::byte* to = outer_.data() + row * outer.x * bytes_;
      std::memcpy(to + job_.extent.before.x * bytes_, from, static_cast<std::size_t>(inner.x * bytes_));
      pad_columns(from, to);
    }
  }
  void pad_columns(const std::byte* from, std::byte* to) {
    const std::int64_t first = job_.extent.before.x;
    const std::int64_t last = first + job_.extent.inner.x;
    for (std::int64_t x = first == 0 ? last : 0; x < job_.extent.outer.x; x = x + 1 == first ? last : x + 1) {
      const auto source = source_position(job_.extent, 2, x);
      if (source) std::memcpy(to + x * bytes_, from + *source * bytes_, static_cast<std::size_t>(bytes_));
    }
  }
  void deliver(std::span<std::byte> out) {
    if (!job_.options.scale) return static_cast<void>(std::memcpy(out.data(), outer_.data(), outer_.size()));
    values_.resize(out.size() / sizeof(float));
    normalise(outer_, job_.source.facts.type, *job_.options.scale, *job_.options.offset, values_);
    std::memcpy(out.data(), values_.data(), out.size());
  }

  const Job& job_;
  std::int64_t bytes_;
  std::vector<std::byte> inner_;
  std::vector<std::byte> outer_;
  std::vector<float> values_;
};

// Writes planes as they come, and a resume record now and then.
class RecordedWriter {
 public:
  // `token`: of the stream whose planes are written; "" where it cannot be resumed, so that nothing is recorded.
  RecordedWriter(const Job& job, VolumeTarget target, std::string token)
      : job_(job), target_(std::move(target)), token_(std::move(token)), done_(job.planes_done), recorded_(done_) {}

  Result<void> write(std::span<const std::byte> plane) {
    if (Result<void> written = target_.write_plane(done_, plane); !written) return written;
    ++done_;
    return done_ - recorded_ >= planes_per_record ? record() : Result<void>();
  }
  Result<void> record() {
    if (done_ == recorded_ || token_.empty()) return {};
    if (Result<void> flushed = target_.flush(); !flushed) return flushed;
    Result<void> written = write_resume(job_.output, {job_.identity, done_, job_.n_out.z, token_});
    if (written) recorded_ = done_;
    return written;
  }
  Result<void> finish() {
    if (Result<void> finished = target_.finish(); !finished) return finished;
    remove_resume(job_.output);
    return {};
  }
  // Planes that --resume can go on after.
  [[nodiscard]] std::int64_t recorded_planes() const { return recorded_; }

 private:
  const Job& job_;
  VolumeTarget target_;
  std::string token_;
  std::int64_t done_;
  std::int64_t recorded_;
};

VolumeRequest request_for(const Job& job) {
  VolumeRequest request;
  request.model = job.options.model;
  request.version = job.model.version;
  request.datatype = job.options.scale ? "FP32" : wire_name(job.source.facts.type);
  request.channels = job.source.facts.channels;
  request.n = job.extent.outer;
  request.output_datatype = wire_name(job.options.dtype);
  request.normalised = job.options.scale.has_value();
  request.first_plane = job.planes_done;
  request.resume_token = job.token;
  return request;
}

Result<void> check_accepted(const Job& job, const Accepted& accepted) {
  const auto text = [](std::int64_t images, Vec3 n, const std::string& type) {
    return std::to_string(images) + " x " + to_string(n) + " " + type;
  };
  const std::string offered = text(accepted.channels, accepted.n, accepted.datatype);
  const std::string expected = text(job.model.f_out, job.n_out, wire_name(job.options.dtype));
  if (offered == expected) return {};
  return Error{ErrorCode::internal, "the daemon offers " + offered + ", expected " + expected};
}

// The writer is opened once the daemon has accepted: a refused job leaves no file.
Result<StreamSummary> stream(const Job& job, const Connection& connection, std::optional<RecordedWriter>& writer,
                             std::stop_token stop) {
  PaddedReader reader(job);
  const Vec3 left = job.n_out - Vec3{job.planes_done, 0, 0};
  Progress progress(job.options.progress ? style_for_stderr() : ProgressStyle::none, static_cast<double>(voxels(left)));
  VolumeHandlers handlers;
  handlers.read = [&](std::int64_t plane, std::span<std::byte> out) { return reader.read(plane, out); };
  handlers.accepted = [&](const Accepted& accepted) -> Result<void> {
    if (Result<void> agreed = check_accepted(job, accepted); !agreed) return agreed;
    if (job.planes_done == 0) remove_resume(job.output);  // it speaks of a partial output that is now replaced
    Result<VolumeTarget> target =
        open_target(job.output, {accepted.channels, job.n_out, job.options.dtype}, job.planes_done);
    if (!target) return target.error();
    writer.emplace(job, std::move(*target), accepted.resume_token);
    return {};
  };
  handlers.write = [&](std::int64_t, std::span<const std::byte> plane) { return writer->write(plane); };
  handlers.progress = [&](const StreamProgress& now) { progress.show(now.patches_done, now.patches, now.part); };
  Result<StreamSummary> summary = infer(connection, request_for(job), handlers, stop);
  progress.end();
  return summary;
}

// Leaves what was written resumable and says so.
Error leave_partial(const Job& job, std::optional<RecordedWriter>& writer, Error error) {
  if (!writer) return error;
  if (Result<void> recorded = writer->record(); !recorded) error.message += "; " + recorded.error().message;
  if (writer->recorded_planes() == 0) return error;
  error.message += "; " + std::to_string(writer->recorded_planes()) + " of " + std::to_string(job.n_out.z) +
                   " planes are kept in " + to_string(partial_name(job.output)) + ": go on with --resume";
  return error;
}

// Paths need not be UTF-8.
std::string json_text(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

InferOutcome outcome(const Job& job, const StreamSummary& summary) {
  std::string text(200 + job.options.output.size(), '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%s: %s voxels in %.2f s, %.0f voxels/s",
                                                     job.options.output.c_str(), to_string(job.n_out).c_str(),
                                                     summary.seconds, summary.voxels_per_second)));
  const nlohmann::json json = {{"output", job.options.output},     {"extent", {job.n_out.z, job.n_out.y, job.n_out.x}},
                               {"images", job.model.f_out},        {"dtype", numpy_name(job.options.dtype)},
                               {"seconds", summary.seconds},       {"voxels_per_second", summary.voxels_per_second},
                               {"resumed_planes", job.planes_done}};
  return {text, json_text(json)};
}

InferOutcome dry_outcome(const Job& job) {
  const std::string text = "would read " + to_string(job.box.extent()) + " voxels of " + job.options.input + ", send " +
                           to_string(job.extent.outer) + " (padding " + to_string(job.options.padding) +
                           ") and write " + std::to_string(job.model.f_out) + " x " + to_string(job.n_out) + " " +
                           numpy_name(job.options.dtype) + " to " + job.options.output;
  const nlohmann::json json = {
      {"dry_run", true}, {"extent", {job.n_out.z, job.n_out.y, job.n_out.x}}, {"images", job.model.f_out}};
  return {text, json_text(json)};
}

// An earlier run was interrupted after its last plane: nothing is left to compute.
Result<InferOutcome> finish_only(const Job& job) {
  Result<VolumeTarget> target =
      open_target(job.output, {job.model.f_out, job.n_out, job.options.dtype}, job.planes_done);
  if (!target) return target.error();
  if (Result<void> finished = RecordedWriter(job, std::move(*target), job.token).finish(); !finished)
    return finished.error();
  return outcome(job, {});
}

}  // namespace

Result<InferOutcome> run_infer(const Options& options, std::stop_token stop) {
  const Result<Credentials> credentials = read_credentials(options.credentials);
  if (!credentials) return credentials.error();
  const Connection connection(options.server, *credentials);
  const Result<Job> job = make_job(options, connection);
  if (!job) return job.error();
  if (options.dry_run) return dry_outcome(*job);
  if (job->planes_done == job->n_out.z) return finish_only(*job);
  std::optional<RecordedWriter> writer;
  const Result<StreamSummary> summary = stream(*job, connection, writer, stop);
  if (!summary) return leave_partial(*job, writer, summary.error());
  if (Result<void> finished = writer->finish(); !finished) return finished.error();
  return outcome(*job, *summary);
}

int exit_code(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
    case ErrorCode::corrupt_file: return 2;
    case ErrorCode::cancelled: return 130;
    default: return 1;
  }
}

}  // namespace znni::client
