#include "client/cli/job.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "client/cli/patience.hpp"
#include "client/cli/progress.hpp"
#include "client/cli/recorded_writer.hpp"
#include "client/cli/surroundings.hpp"
#include "client/files/sent_source.hpp"

namespace znni::client {
namespace {

// Returns the smallest extent that the model takes: the window along axes along which voxels are lost, if it has one.
Vec3 min_input(const ModelFacts& model) {
  Vec3 least = model.field_of_view;
  for (int axis = 0; axis < 3; ++axis) {
    if (least[axis] > 1) least[axis] = std::max(least[axis], model.window[axis]);
  }
  return least;
}

// Fails if `n` voxels, of the volume or of the box with its padding, are less than `least`, which is `what`.
Result<void> check_extent(const Job& job, Vec3 n, Vec3 least, const std::string& what) {
  if (covers(n, least)) return {};
  const bool would_do =
      job.options.padding == Padding::none && covers(n + job.model.field_of_view - Vec3::cube(1), least);
  return Error{ErrorCode::invalid_argument, job.options.input + ": " + to_string(n) + " voxels are less than " + what +
                                                " " + to_string(least) + " of model '" + job.model.name + "'" +
                                                (would_do ? "; try --padding reflect" : "")};
}

// Fails if no box of the volume, `whole` with its padding, has an output. Extents are told without padding.
Result<void> check_box(const Job& job, Vec3 whole) {
  const ModelFacts& model = job.model;
  if (job.input.box == Box{{0, 0, 0}, job.input.source.facts.n}) return {};
  if (model.needs_whole && !job.options.scale) {
    return Error{ErrorCode::invalid_argument,
                 "--bbox: model '" + model.name +
                     "' takes mean and deviation of all of the volume, which a box by itself does not have: leave "
                     "--bbox out, or give --scale and --offset"};
  }
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t rest = (whole[axis] - model.min_extent[axis]) % model.period[axis];
    if (model.window != Vec3{} || rest <= 0) continue;
    const std::int64_t n = job.input.source.facts.n[axis];
    const std::int64_t below = n - rest;
    return Error{ErrorCode::invalid_argument,
                 job.options.input + ": has " + std::to_string(n) + " voxels along " + "zyx"[axis] +
                     "; the strides of model '" + model.name + "' need steps of " + std::to_string(model.period[axis]) +
                     ", here " + std::to_string(below) + " or " + std::to_string(below + model.period[axis])};
  }
  return {};
}

// Fails unless the model takes the volume, `whole` with its padding, and the box, `read` with its padding.
Result<void> check_model(const Job& job, Vec3 whole, Vec3 read) {
  const std::int64_t channels = job.input.source.facts.channels;
  if (channels != job.model.f_in) {
    return Error{ErrorCode::invalid_argument, job.options.input + ": has " + std::to_string(channels) +
                                                  " channels, model '" + job.model.name + "' takes " +
                                                  std::to_string(job.model.f_in)};
  }
  const std::string what = job.model.window == Vec3{} ? "the field of view" : "the window along an axis,";
  if (Result<void> fits = check_extent(job, whole, min_input(job.model), what); !fits) return fits;
  if (Result<void> fits = check_extent(job, read, job.model.field_of_view, "the field of view"); !fits) return fits;
  return check_box(job, whole);
}

// Chooses what the model is given for the box: `read` is the box with its padding, `whole` the volume with its own.
void set_surroundings(Job& job, Vec3 whole, Vec3 read) {
  const Vec3 reach = job.model.field_of_view - Vec3::cube(1);
  const Box region{job.input.box.start, job.input.box.start + read - reach};
  Box given = read_for(region, whole, job.model);
  job.kept = {region.start - given.start, region.stop - given.start};
  job.n_out = region.extent();
  job.streamed = given.extent() - reach;
  if (job.options.padding != Padding::none) given.stop = given.stop - reach;  // pad() puts it around the box again
  job.input.extent = pad(job.options.padding, job.input.source.facts.n, given, job.model.field_of_view);
}

// Returns the number with enough digits that different floats have different texts.
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

// Returns the padding's name for the resume record. The text differs from that of older clients, which padded a box at
// its own edge rather than with the voxels around it.
std::string padding_text(const Job& job) {
  const bool is_whole = job.input.box == Box{{0, 0, 0}, job.input.source.facts.n};
  const std::string name = to_string(job.options.padding);
  return is_whole || job.options.padding == Padding::none ? name : name + " at the border of the volume";
}

JobIdentity identity_of(const Job& job) {
  const Options& options = job.options;
  const bool own = options.scale.has_value();
  return {options.input,
          options.model,
          job.model.version,
          to_string(job.input.box),
          padding_text(job),
          numpy_name(options.dtype),
          own ? number_text(*options.scale) + "," + number_text(*options.offset) : "model",
          state_of(parse_file_name(options.input).path),
          std::to_string(job.model.f_out) + " images, field of view " + to_string(job.model.field_of_view)};
}

// Returns the state of a job with --resume that was not interrupted: it starts from the beginning. So a supervisor that
// restarts a job may always pass --resume.
ResumeState fresh_state(const Job& job) {
  std::fprintf(stderr, "znni: --resume: nothing to resume for %s: beginning at the start\n",
               job.options.output.c_str());
  return ResumeState{};
}

Parts parts_of(const Job& job, const ResumeState& begun) {
  if (begun.part_y == 0) return {job.n_out, job.n_out};
  return {job.n_out, {job.n_out.z, begun.part_y, begun.part_x}};
}

Error another_job(const Job& job, const ResumeState& found, const std::string& changed) {
  JobIdentity older = job.identity;
  older.padding = to_string(job.options.padding);
  const bool is_older = older.padding != job.identity.padding && difference(found.job, older).empty();
  const std::string why = is_older ? ": an older znni began it, which padded at the edge of the box" : "";
  return {ErrorCode::invalid_argument,
          "--resume: another job was begun: " + changed + why + "; start over with --overwrite"};
}

// Returns the state that an earlier run left, if --resume asks to continue it. Without --resume or --overwrite an
// interrupted output is an error, so that it is not lost.
Result<ResumeState> resumed(const Job& job) {
  const Options& options = job.options;
  if (options.overwrite) return ResumeState{};
  const Result<std::optional<ResumeState>> state = read_resume(job.output);
  if (!state) return state.error();
  if (!state->has_value()) {
    return options.resume ? fresh_state(job) : ResumeState{};
  }
  const ResumeState& found = **state;
  const Parts parts = parts_of(job, found);
  if (!options.resume) {
    return Error{ErrorCode::invalid_argument, options.output + ": " +
                                                  kept_text(found.parts_done, found.planes_done, parts) +
                                                  " are there already: add --resume, or --overwrite to start over"};
  }
  const std::string changed = difference(found.job, job.identity);
  if (!changed.empty()) return another_job(job, found, changed);
  if (found.planes != job.n_out.z || found.parts_done > parts.count())
    return Error{ErrorCode::corrupt_file, resume_path(job.output) + ": not of this output"};
  ResumeState begun = found;
  if (parts.count() == 1 || found.planes_done < found.planes) return begun;
  ++begun.parts_done;  // its last plane was recorded, and no more
  begun.planes_done = 0;
  return begun;
}

// Returns true for errors after which the job can go on without advice. Any other error would end the stream, too.
bool is_needless(const Error& error) {
  return error.code == ErrorCode::unsupported || error.code == ErrorCode::deadline_exceeded ||
         error.code == ErrorCode::internal;
}

// Returns true if an earlier run left its record.
bool has_record(const FileName& output) {
  const Result<std::optional<ResumeState>> record = read_resume(output);
  return !record || record->has_value();
}

// Checks the files before the daemon is asked.
Result<void> check_files(const Options& options, const FileName& output) {
  if (Result<void> usable = check_file_of(output); !usable) return usable;
  if (output_exists(output) && !options.overwrite && !options.resume) {
    return Error{ErrorCode::invalid_argument, options.output + ": is there already: add --overwrite or name another"};
  }
  if (output_exists(output) && options.resume && !has_record(output)) {
    return Error{
        ErrorCode::invalid_argument,
        options.output + ": is there already, in full: add --overwrite in place of --resume to compute it again"};
  }
  std::error_code unknown;
  if (std::filesystem::equivalent(parse_file_name(options.input).path, output.path, unknown)) {
    return Error{ErrorCode::invalid_argument, options.output + ": input and output must be different files"};
  }
  return {};
}

// Asks until the daemon answers, or --wait is over: while it loads the model, and with --resume while it is away.
Result<ModelFacts> ask_for_model(const Options& options, const Connection& connection, const std::stop_token& stop) {
  Patience patience(options.wait_seconds, stop);
  Progress progress(options.progress ? style_for_stderr() : ProgressStyle::none, 0);
  for (bool goes_on = true; goes_on;) {
    Result<ModelFacts> model = connection.model(options.model, options.version);
    const bool passes = !model && (options.resume || is_loading(model.error())) && patience.lasts(model.error());
    if (!passes) {
      progress.end();
      return model;
    }
    progress.wait(patience.text(model.error()));
    goes_on = patience.wait(model.error());
  }
  progress.end();
  return Error{ErrorCode::cancelled, "interrupted"};
}

}  // namespace

Vec3 Job::offset() const {
  const bool is_padded = options.padding != Padding::none;
  const Vec3 lost_before = (model.field_of_view - Vec3::cube(1)) / Vec3::cube(2);
  return is_padded ? input.box.start : input.box.start + lost_before;
}

Result<Job> make_job(const Options& options, const Connection& connection, const std::stop_token& stop) {
  Job job{options, parse_file_name(options.output), {}, {}, {}, {}, {}, {}, {}, {}};
  job.output.is_compressed = options.compress;
  if (Result<void> sound = check_files(options, job.output); !sound) return sound.error();
  Result<VolumeSource> source = open_source(parse_file_name(options.input));
  if (!source) return source.error();
  if (!options.scale) source = as_sent(*std::move(source), options.input, "save it as float32, or give --scale");
  const Result<Box> box = parse_bbox(options.bbox, source->facts.n);
  if (!box) return box.error();
  const Result<ModelFacts> model = ask_for_model(options, connection, stop);
  if (!model) return model.error();
  job.model = *model;
  const Vec3 n = source->facts.n;
  const Vec3 whole = pad(options.padding, n, {{0, 0, 0}, n}, model->field_of_view).outer;
  const Vec3 read = pad(options.padding, n, *box, model->field_of_view).outer;
  job.input = {*std::move(source), *box, {}, options.scale, options.offset};
  if (Result<void> fits = check_model(job, whole, read); !fits) return fits.error();
  set_surroundings(job, whole, read);
  const VolumeFacts facts{model->f_out, job.n_out, options.dtype};
  if (Result<void> sound = check_target(job.output, facts); !sound) return sound.error();
  job.identity = identity_of(job);
  Result<ResumeState> begun = resumed(job);
  if (!begun) return begun.error();
  job.begun = *std::move(begun);
  if (!job.goes_on()) job.begun.replaces = output_mark(job.output);
  job.begun.job = job.identity;
  job.begun.planes = job.n_out.z;
  job.parts = parts_of(job, job.begun);
  return job;
}

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

Result<Advice> choose_parts(const Connection& connection, Job& job) {
  if (job.goes_on()) return Advice{};
  const Result<StreamOutlook> found = outlook(connection, request_for(job, {{0, 0, 0}, job.streamed}, 0, ""));
  if (!found && !is_needless(found.error())) return found.error();
  if (!found) return Advice{{}, found.error()};
  if (job.is_cut()) return Advice{*found, {}};  // what surrounds a box is streamed at once
  job.parts.part = {job.n_out.z, std::min(found->part.y, job.n_out.y), std::min(found->part.x, job.n_out.x)};
  if (job.parts.count() > 1) {
    job.begun.part_y = job.parts.part.y;
    job.begun.part_x = job.parts.part.x;
  }
  return Advice{*found, {}};
}

std::string one_stream_text(const Error& missing) {
  const bool older = missing.code == ErrorCode::unsupported;
  return "in which parts the volume is best computed is not known, it goes in one stream: " +
         (older ? "the daemon is too old to tell" : missing.message);
}

}  // namespace znni::client
