#include "client/cli/infer.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "client/cli/dry_run.hpp"
#include "client/cli/foretold.hpp"
#include "client/cli/job.hpp"
#include "client/cli/patience.hpp"
#include "client/cli/plane_cut.hpp"
#include "client/cli/progress.hpp"
#include "client/cli/recorded_writer.hpp"

namespace znni::client {
namespace {

Result<void> check_accepted(const Job& job, Vec3 n_out, const Accepted& accepted) {
  const auto text = [](std::int64_t channels, Vec3 n, const std::string& type) {
    return std::to_string(channels) + " x " + to_string(n) + " " + type;
  };
  const std::string offered = text(accepted.channels, accepted.n, accepted.datatype);
  const std::string expected = text(job.model.f_out, n_out, wire_name(job.options.dtype));
  if (offered == expected) return {};
  return Error{ErrorCode::internal, "the daemon offers " + offered + ", expected " + expected};
}

// Fails if the planes that the record counts are gone, or lie in a partial output of the other kind.
Result<void> check_partial(const Job& job) {
  const FileName partial = partial_name(job.output);
  if (!job.goes_on() || output_exists(partial)) return {};
  FileName other = job.output;
  other.is_compressed = !other.is_compressed;
  if (output_exists(partial_name(other))) {
    const std::string begun =
        other.is_compressed ? "compressed: leave out --no-compress" : "uncompressed: add --no-compress";
    return Error{ErrorCode::invalid_argument,
                 "--resume: " + to_string(job.output) + " was begun " + begun + ", or start over with --overwrite"};
  }
  return Error{ErrorCode::corrupt_file,
               to_string(partial) + ": is gone, and with it what was computed: start over with --overwrite"};
}

Result<RecordedWriter> open_writer(const Job& job, const std::stop_token& stop) {
  if (Result<void> there = check_partial(job); !there) return there.error();
  const VolumeFacts facts{job.model.f_out, job.n_out, job.options.dtype, job.offset()};
  const bool can_stop = job.parts.count() > 1 || job.output.is_compressed;
  Result<VolumeTarget> target = can_stop ? open_target_in_parts(job.output, facts, job.goes_on(), stop)
                                         : open_target(job.output, facts, job.begun.planes_done);
  if (!target) return target.error();
  return RecordedWriter(job.output, *std::move(target), job.parts, job.begun);
}

// One run over the parts that are missing.
class Run {
 public:
  Run(const Job& job, const Connection& connection, std::stop_token stop)
      : job_(job),
        connection_(connection),
        stop_(std::move(stop)),
        model_token_(job.begun.model_token),
        progress_(job.options.progress ? style_for_stderr() : ProgressStyle::none, voxels_left()) {}

  // Streams the parts. Returns the sums over them.
  Result<StreamSummary> run() {
    StreamSummary sum;
    for (std::int64_t part = job_.begun.parts_done; part < job_.parts.count(); ++part) {
      progress_.begin_part(part + 1, job_.parts.count(), voxels_left(part));
      const Result<StreamSummary> one = stream_patiently(part);
      if (!one) return leave_partial(one.error());
      if (Result<void> ended = writer_->end_part(); !ended) return leave_partial(ended.error());
      sum.bytes += one->bytes;
      sum.seconds += one->seconds;
      sum.voxels_per_second = one->voxels_per_second;
      sum.nonfinite_voxels += one->nonfinite_voxels;
    }
    progress_.end();
    if (job_.parts.count() > 1 || job_.is_cut()) sum.voxels_per_second = voxels_left() / std::max(sum.seconds, 1e-9);
    if (Result<void> finished = writer_->finish(); !finished) return leave_partial(finished.error());
    return sum;
  }

 private:
  // Returns the number of planes of the part that an earlier run has written.
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

  // Streams a part. A model that still loads is waited for. If part of the output exists already, a daemon that is full
  // or restarting is asked again, too, because it has accepted the job before.
  Result<StreamSummary> stream_patiently(std::int64_t part) {
    const bool asks_again = part > 0 || job_.goes_on();
    Patience patience(job_.options.wait_seconds, stop_);
    for (;;) {
      const Result<StreamSummary> one = stream(part);
      if (one || has_written_ || !patience.lasts(one.error())) return one;
      if (!asks_again && !is_loading(one.error())) return one;
      progress_.wait(patience.text(one.error()));
      if (!patience.wait(one.error())) return Error{ErrorCode::cancelled, "interrupted"};
    }
  }

  Result<StreamSummary> stream(std::int64_t part) {
    const Box box = job_.is_cut() ? Box{{0, 0, 0}, job_.streamed} : job_.parts.box(part);
    const std::int64_t done = planes_done(part);
    PaddedReader reader(job_.input, {box.start, box.stop + job_.model.field_of_view - Vec3::cube(1)});
    has_written_ = false;
    VolumeHandlers handlers;
    handlers.read = [&](std::int64_t plane, std::span<std::byte> out) { return reader.read(plane, out); };
    handlers.accepted = [&](const Accepted& accepted) { return accept(box.extent(), accepted); };
    handlers.write = [&](std::int64_t z, std::span<const std::byte> plane) { return write(z, plane); };
    handlers.progress = [&](const StreamProgress& now) { progress_.show(now.patches_done, now.patches, now.part); };
    const VolumeRequest request = request_for(job_, box, done, done > 0 ? job_.begun.token : "");
    Result<StreamSummary> streamed = infer(connection_, request, handlers, stop_);
    if (streamed || streamed.error().code != ErrorCode::invalid_argument || !reader.nonfinite()) return streamed;
    return Error{ErrorCode::invalid_argument, streamed.error().message + "; the first voxel of " + job_.options.input +
                                                  " that is not finite is at " + to_string(*reader.nonfinite())};
  }

  // Writes what is kept of a streamed plane.
  Result<void> write(std::int64_t z, std::span<const std::byte> plane) {
    has_written_ = true;
    if (!job_.is_cut()) return writer_->write(plane);
    if (z < job_.kept.start.z || z >= job_.kept.stop.z) return {};
    const std::int64_t bytes = voxel_bytes(job_.options.dtype);
    return writer_->write(cut_plane(plane, job_.model.f_out, job_.streamed, job_.kept, bytes, plane_));
  }

  // Checks the daemon's answer and opens the writer. A refused job leaves no file.
  Result<void> accept(Vec3 n_out, const Accepted& accepted) {
    if (Result<void> agreed = check_accepted(job_, n_out, accepted); !agreed) return agreed;
    is_other_model_ = !model_token_.empty() && accepted.model_token != model_token_;
    if (is_other_model_) {
      return Error{ErrorCode::corrupt_file,
                   "the daemon's model or plan is another than that of the parts that are there: serve that one again, "
                   "or start over with --overwrite"};
    }
    model_token_ = accepted.model_token;
    if (!writer_) {
      if (!job_.goes_on()) remove_resume(job_.output);  // it describes a partial output that is now replaced
      Result<RecordedWriter> opened = open_writer(job_, stop_);
      if (!opened) return opened.error();
      writer_.emplace(*std::move(opened));
    }
    writer_->begin(job_.is_cut() ? "" : accepted.resume_token, accepted.model_token);
    return {};
  }

  // Returns `error`, with a note on how to resume. Records the written planes, or removes the output if it cannot be
  // resumed.
  Error leave_partial(Error error) {
    progress_.end();
    if (!writer_) return error;
    if (Result<void> recorded = writer_->record(); !recorded && recorded.error().message != error.message)
      error.message += "; " + recorded.error().message;
    const std::string kept = writer_->recorded();
    if (kept.empty() && writer_->is_complete()) {
      error.message += "; the whole output is in " + to_string(partial_name(job_.output));
      return error;
    }
    if (kept.empty()) writer_->discard();
    if (kept.empty() || is_other_model_) return error;
    error.message += "; " + kept + " are kept in " + to_string(partial_name(job_.output)) + ": go on with --resume";
    return error;
  }

  const Job& job_;
  const Connection& connection_;
  const std::stop_token stop_;
  std::string model_token_;  // of the parts streamed so far
  Progress progress_;
  std::optional<RecordedWriter> writer_;
  std::vector<std::byte> plane_;  // what is kept of one
  bool has_written_ = false;      // true if the current stream has written a plane
  bool is_other_model_ = false;
};

// Returns the text of `json`. Replaces invalid UTF-8, which paths may hold.
std::string json_text(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Returns the text and JSON of a finished run, with the prediction `own` beside the reached rate.
InferOutcome outcome(const Job& job, const StreamSummary& summary, const std::optional<Foretold>& own = {}) {
  std::string text(200 + job.options.output.size(), '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%s: %s voxels in %.2f s, %.0f voxels/s",
                                                     job.options.output.c_str(), to_string(job.n_out).c_str(),
                                                     summary.seconds, summary.voxels_per_second)));
  if (own) text += "; predicted " + foretold_text(*own);
  if (summary.nonfinite_voxels > 0) {
    text +=
        "; the model replaced " + std::to_string(summary.nonfinite_voxels) + " input voxels that were NaN or infinite";
  }
  nlohmann::json json = {{"output", job.options.output},
                         {"extent", {job.n_out.z, job.n_out.y, job.n_out.x}},
                         {"channels", job.model.f_out},
                         {"images", job.model.f_out},  // as earlier versions called them
                         {"dtype", numpy_name(job.options.dtype)},
                         {"seconds", summary.seconds},
                         {"voxels_per_second", summary.voxels_per_second},
                         {"nonfinite_voxels", summary.nonfinite_voxels},
                         {"parts", job.parts.count()},
                         {"resumed_parts", job.begun.parts_done},
                         {"resumed_planes", job.begun.planes_done}};
  if (own) set_foretold(json, *own);
  return {text, json_text(json)};
}

OutputShare share_of(const Job& job) {
  const VolumeFacts facts{job.model.f_out, job.n_out, job.options.dtype};
  return {facts, job.parts, job.begun.parts_done, job.begun.planes_done};
}

// Returns true if an earlier run was interrupted after its last plane, so that nothing is left to compute.
bool is_computed(const Job& job) {
  const std::int64_t parts = job.parts.count();
  return parts == 1 ? job.begun.planes_done == job.n_out.z : job.begun.parts_done == parts;
}

// Returns true if an earlier run finished its output and only its resume record remains. The output then has another
// mark than when the run began.
bool is_finished(const Job& job) {
  const bool is_partial = output_exists(partial_name(job.output));
  return !is_partial && output_exists(job.output) && output_mark(job.output) != job.begun.replaces;
}

Result<InferOutcome> finish_only(const Job& job, const std::stop_token& stop) {
  if (is_finished(job)) {
    remove_resume(job.output);
    return outcome(job, {});
  }
  Result<RecordedWriter> writer = open_writer(job, stop);
  if (!writer) return writer.error();
  const Result<void> finished = writer->finish();
  if (finished) return outcome(job, {});
  if (finished.error().code == ErrorCode::corrupt_file) return finished.error();  // it says to start over
  return Error{finished.error().code, finished.error().message + "; all is computed: go on with --resume"};
}

}  // namespace

Result<InferOutcome> run_infer(const Options& options, std::stop_token stop, const SpaceOf& space_of) {
  const Result<Credentials> credentials = read_credentials(options.credentials);
  if (!credentials) return credentials.error();
  const Connection connection(options.server, *credentials);
  Result<Job> job = make_job(options, connection, stop);
  if (!job) return job.error();
  if (is_computed(*job) && !options.dry_run) return finish_only(*job, stop);
  const Result<Advice> advice = choose_parts(connection, *job);
  if (!advice) return advice.error();
  if (Result<void> fits = check_room(job->output, share_of(*job), space_of); !fits) return fits.error();
  if (const std::string warning = room_warning(job->output, share_of(*job), space_of); !warning.empty())
    std::fprintf(stderr, "znni: %s\n", warning.c_str());
  if (options.dry_run) return dry_outcome(*job, *advice);
  if (advice->missing && advice->missing->code != ErrorCode::unsupported)
    std::fprintf(stderr, "znni: %s\n", one_stream_text(*advice->missing).c_str());
  const Result<StreamSummary> summary = Run(*job, connection, std::move(stop)).run();
  if (!summary) return summary.error();
  return outcome(*job, *summary, foretold(*job, *advice));
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
