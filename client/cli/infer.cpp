#include "client/cli/infer.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "client/cli/files.hpp"
#include "client/cli/padded_reader.hpp"
#include "client/cli/parts.hpp"
#include "client/cli/progress.hpp"
#include "client/cli/recorded_writer.hpp"
#include "client/cli/resume.hpp"
#include "client/cpp/volume_client.hpp"

namespace znni::client {
namespace {

// Everything known before the first byte is sent.
struct Job {
  Options options;
  FileName output;
  PaddedVolume input;
  ModelFacts model;
  Vec3 n_out;
  JobIdentity identity;
  ResumeState begun;  // by an earlier, interrupted run
  Parts parts;        // of the output

  [[nodiscard]] bool goes_on() const { return begun.parts_done + begun.planes_done > 0; }
};

Result<void> check_model(const Job& job) {
  if (job.input.source.facts.channels != job.model.f_in) {
    return Error{ErrorCode::invalid_argument, job.options.input + ": has " +
                                                  std::to_string(job.input.source.facts.channels) + " images, model '" +
                                                  job.model.name + "' takes " + std::to_string(job.model.f_in)};
  }
  if (!covers(job.input.extent.outer, job.model.field_of_view)) {
    return Error{ErrorCode::invalid_argument, job.options.input + ": " + to_string(job.input.extent.outer) +
                                                  " voxels are less than the field of view " +
                                                  to_string(job.model.field_of_view) + " of model '" + job.model.name +
                                                  "'; try --padding reflect"};
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
          to_string(job.input.box),
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

Parts parts_of(const Job& job, const ResumeState& begun) {
  if (begun.part_y == 0) return {job.n_out, job.n_out};
  return {job.n_out, {job.n_out.z, begun.part_y, begun.part_x}};
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
  const Parts parts = parts_of(job, found);
  if (!options.resume) {
    return Error{ErrorCode::invalid_argument, options.output + ": " +
                                                  kept_text(found.parts_done, found.planes_done, parts) +
                                                  " are there already: add --resume, or --overwrite to start over"};
  }
  const std::string changed = difference(found.job, job.identity);
  if (!changed.empty()) return Error{ErrorCode::invalid_argument, "--resume: another job was begun: " + changed};
  if (found.planes != job.n_out.z || found.parts_done > parts.count())
    return Error{ErrorCode::corrupt_file, resume_path(job.output) + ": not of this output"};
  ResumeState begun = found;
  if (parts.count() == 1 || found.planes_done < found.planes) return begun;
  ++begun.parts_done;  // its last plane was recorded, and no more
  begun.planes_done = 0;
  return begun;
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
  Job job{options, parse_file_name(options.output), {}, {}, {}, {}, {}, {}};
  if (Result<void> sound = check_files(options, job.output); !sound) return sound.error();
  Result<VolumeSource> source = open_source(parse_file_name(options.input));
  if (!source) return source.error();
  const Result<Box> box = parse_bbox(options.bbox, source->facts.n);
  if (!box) return box.error();
  const Result<ModelFacts> model = connection.model(options.model, options.version);
  if (!model) return model.error();
  job.model = *model;
  const PaddedExtent extent = pad(options.padding, box->extent(), model->field_of_view);
  job.input = {*std::move(source), *box, extent, options.scale, options.offset};
  if (Result<void> fits = check_model(job); !fits) return fits.error();
  job.n_out = job.input.extent.outer - model->field_of_view + Vec3::cube(1);
  const VolumeFacts facts{model->f_out, job.n_out, options.dtype};
  if (Result<void> sound = check_target(job.output, facts); !sound) return sound.error();
  job.identity = identity_of(job);
  Result<ResumeState> begun = resumed(job);
  if (!begun) return begun.error();
  job.begun = *std::move(begun);
  job.begun.job = job.identity;
  job.begun.planes = job.n_out.z;
  job.parts = parts_of(job, job.begun);
  return job;
}

// Of a part of the output that has `done` planes.
VolumeRequest request_for(const Job& job, const Box& part, std::int64_t done, const std::string& token) {
  VolumeRequest request;
  request.model = job.options.model;
  request.version = job.model.version;
  request.datatype = job.options.scale ? "FP32" : wire_name(job.input.source.facts.type);
  request.channels = job.input.source.facts.channels;
  request.n = part.extent() + job.model.field_of_view - Vec3::cube(1);
  request.output_datatype = wire_name(job.options.dtype);
  request.normalised = job.options.scale.has_value();
  request.first_plane = done;
  request.resume_token = token;
  return request;
}

// What was begun goes on in its parts; else the daemon is asked for the best.
Result<void> choose_parts(const Connection& connection, Job& job) {
  if (job.goes_on()) return {};
  const Result<StreamOutlook> found = outlook(connection, request_for(job, {{0, 0, 0}, job.n_out}, 0, ""));
  if (!found && found.error().code == ErrorCode::unsupported) return {};  // an older daemon
  if (!found) return found.error();
  job.parts.part = {job.n_out.z, std::min(found->part.y, job.n_out.y), std::min(found->part.x, job.n_out.x)};
  if (job.parts.count() == 1) return {};
  job.begun.part_y = job.parts.part.y;
  job.begun.part_x = job.parts.part.x;
  return {};
}

Result<void> check_accepted(const Job& job, Vec3 n_out, const Accepted& accepted) {
  const auto text = [](std::int64_t images, Vec3 n, const std::string& type) {
    return std::to_string(images) + " x " + to_string(n) + " " + type;
  };
  const std::string offered = text(accepted.channels, accepted.n, accepted.datatype);
  const std::string expected = text(job.model.f_out, n_out, wire_name(job.options.dtype));
  if (offered == expected) return {};
  return Error{ErrorCode::internal, "the daemon offers " + offered + ", expected " + expected};
}

Result<RecordedWriter> open_writer(const Job& job) {
  const VolumeFacts facts{job.model.f_out, job.n_out, job.options.dtype};
  Result<VolumeTarget> target = job.parts.count() > 1 ? open_target_in_parts(job.output, facts, job.goes_on())
                                                      : open_target(job.output, facts, job.begun.planes_done);
  if (!target) return target.error();
  return RecordedWriter(job.output, *std::move(target), job.parts, job.begun);
}

// A run over the parts that are missing.
class Run {
 public:
  Run(const Job& job, const Connection& connection, std::stop_token stop)
      : job_(job),
        connection_(connection),
        stop_(std::move(stop)),
        model_token_(job.begun.model_token),
        progress_(job.options.progress ? style_for_stderr() : ProgressStyle::none, voxels_left()) {}

  // Bytes and seconds of all.
  Result<StreamSummary> run() {
    StreamSummary sum;
    for (std::int64_t part = job_.begun.parts_done; part < job_.parts.count(); ++part) {
      const Result<StreamSummary> one = stream(part);
      if (!one) return leave_partial(one.error());
      if (Result<void> ended = writer_->end_part(); !ended) return ended.error();
      sum.bytes += one->bytes;
      sum.seconds += one->seconds;
      sum.voxels_per_second = one->voxels_per_second;
    }
    progress_.end();
    if (job_.parts.count() > 1) sum.voxels_per_second = voxels_left() / std::max(sum.seconds, 1e-9);
    if (Result<void> finished = writer_->finish(); !finished) return finished.error();
    return sum;
  }

 private:
  // Of the part's planes, by an earlier run.
  [[nodiscard]] std::int64_t planes_done(std::int64_t part) const {
    return part == job_.begun.parts_done ? job_.begun.planes_done : 0;
  }
  [[nodiscard]] double voxels_left(std::int64_t part) const {
    return static_cast<double>(voxels(job_.parts.box(part).extent() - Vec3{planes_done(part), 0, 0}));
  }
  [[nodiscard]] double voxels_left() const {
    double sum = 0;
    for (std::int64_t part = job_.begun.parts_done; part < job_.parts.count(); ++part) sum += voxels_left(part);
    return sum;
  }

  Result<StreamSummary> stream(std::int64_t part) {
    const Box box = job_.parts.box(part);
    const std::int64_t done = planes_done(part);
    PaddedReader reader(job_.input, {box.start, box.stop + job_.model.field_of_view - Vec3::cube(1)});
    progress_.begin_part(part + 1, job_.parts.count(), voxels_left(part));
    VolumeHandlers handlers;
    handlers.read = [&](std::int64_t plane, std::span<std::byte> out) { return reader.read(plane, out); };
    handlers.accepted = [&](const Accepted& accepted) { return accept(box.extent(), accepted); };
    handlers.write = [&](std::int64_t, std::span<const std::byte> plane) { return writer_->write(plane); };
    handlers.progress = [&](const StreamProgress& now) { progress_.show(now.patches_done, now.patches, now.part); };
    return infer(connection_, request_for(job_, box, done, done > 0 ? job_.begun.token : ""), handlers, stop_);
  }

  // The writer is opened once the daemon has accepted: a refused job leaves no file.
  Result<void> accept(Vec3 n_out, const Accepted& accepted) {
    if (Result<void> agreed = check_accepted(job_, n_out, accepted); !agreed) return agreed;
    if (!model_token_.empty() && accepted.model_token != model_token_) {
      return Error{ErrorCode::corrupt_file,
                   "the daemon's model or plan is another than that of the parts that are there: start over"};
    }
    model_token_ = accepted.model_token;
    if (!writer_) {
      if (!job_.goes_on()) remove_resume(job_.output);  // it speaks of a partial output that is now replaced
      Result<RecordedWriter> opened = open_writer(job_);
      if (!opened) return opened.error();
      writer_.emplace(*std::move(opened));
    }
    writer_->begin(accepted.resume_token, accepted.model_token);
    return {};
  }

  // Leaves what was written resumable and says so.
  Error leave_partial(Error error) {
    progress_.end();
    if (!writer_) return error;
    if (Result<void> recorded = writer_->record(); !recorded) error.message += "; " + recorded.error().message;
    const std::string kept = writer_->recorded();
    if (kept.empty()) return error;
    error.message += "; " + kept + " are kept in " + to_string(partial_name(job_.output)) + ": go on with --resume";
    return error;
  }

  const Job& job_;
  const Connection& connection_;
  const std::stop_token stop_;
  std::string model_token_;  // of the parts so far
  Progress progress_;
  std::optional<RecordedWriter> writer_;
};

// Paths need not be UTF-8.
std::string json_text(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

InferOutcome outcome(const Job& job, const StreamSummary& summary) {
  std::string text(200 + job.options.output.size(), '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%s: %s voxels in %.2f s, %.0f voxels/s",
                                                     job.options.output.c_str(), to_string(job.n_out).c_str(),
                                                     summary.seconds, summary.voxels_per_second)));
  const nlohmann::json json = {{"output", job.options.output},
                               {"extent", {job.n_out.z, job.n_out.y, job.n_out.x}},
                               {"images", job.model.f_out},
                               {"dtype", numpy_name(job.options.dtype)},
                               {"seconds", summary.seconds},
                               {"voxels_per_second", summary.voxels_per_second},
                               {"parts", job.parts.count()},
                               {"resumed_parts", job.begun.parts_done},
                               {"resumed_planes", job.begun.planes_done}};
  return {text, json_text(json)};
}

InferOutcome dry_outcome(const Job& job) {
  const std::string text = "would read " + to_string(job.input.box.extent()) + " voxels of " + job.options.input +
                           ", send " + to_string(job.input.extent.outer) + " (padding " +
                           to_string(job.options.padding) + ") and write " + std::to_string(job.model.f_out) + " x " +
                           to_string(job.n_out) + " " + numpy_name(job.options.dtype) + " to " + job.options.output;
  const nlohmann::json json = {
      {"dry_run", true}, {"extent", {job.n_out.z, job.n_out.y, job.n_out.x}}, {"images", job.model.f_out}};
  return {text, json_text(json)};
}

// An earlier run was interrupted after its last plane: nothing is left to compute.
bool is_computed(const Job& job) {
  const std::int64_t parts = job.parts.count();
  return parts == 1 ? job.begun.planes_done == job.n_out.z : job.begun.parts_done == parts;
}

Result<InferOutcome> finish_only(const Job& job) {
  Result<RecordedWriter> writer = open_writer(job);
  if (!writer) return writer.error();
  if (Result<void> finished = writer->finish(); !finished) return finished.error();
  return outcome(job, {});
}

}  // namespace

Result<InferOutcome> run_infer(const Options& options, std::stop_token stop) {
  const Result<Credentials> credentials = read_credentials(options.credentials);
  if (!credentials) return credentials.error();
  const Connection connection(options.server, *credentials);
  Result<Job> job = make_job(options, connection);
  if (!job) return job.error();
  if (options.dry_run) return dry_outcome(*job);
  if (is_computed(*job)) return finish_only(*job);
  if (Result<void> chosen = choose_parts(connection, *job); !chosen) return chosen.error();
  const Result<StreamSummary> summary = Run(*job, connection, std::move(stop)).run();
  if (!summary) return summary.error();
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
