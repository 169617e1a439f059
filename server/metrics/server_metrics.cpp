#include "server/metrics/server_metrics.hpp"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "server/metrics/process_metrics.hpp"

namespace znni {
namespace {

std::string_view text_of(ModelState state) {
  switch (state) {
    case ModelState::unloaded: return "unloaded";
    case ModelState::loading: return "loading";
    case ModelState::ready: return "ready";
    case ModelState::unavailable: return "unavailable";
  }
  return "unavailable";
}

Labels labels_of(const ModelInfo& model) { return {{"model", model.name}, {"version", model.version}}; }

void write_models(const std::vector<ModelInfo>& models, PrometheusText& out) {
  out.family("znni_model_info", "gauge", "One per model: its state and its plan.");
  for (const ModelInfo& model : models) {
    Labels labels = labels_of(model);
    labels.emplace_back("state", text_of(model.state));
    labels.emplace_back("plan", model.plan_summary);
    out.sample(labels, std::int64_t{1});
  }
  out.family("znni_model_memory_bytes", "gauge", "Host memory reserved for a model, by kind.");
  for (const ModelInfo& model : models) {
    const auto kind = [&](const char* name, std::int64_t bytes) {
      Labels labels = labels_of(model);
      labels.emplace_back("kind", name);
      out.sample(labels, bytes);
    };
    kind("weights", model.memory.weights);
    kind("persistent", model.memory.persistent);
    kind("transient", model.memory.transient);
  }
  out.family("znni_model_predicted_voxels_per_second", "gauge", "What the plan promises in an endless volume.");
  for (const ModelInfo& model : models) out.sample(labels_of(model), model.predicted_voxels_per_second);
}

// Writes the families about plans that use CPU and GPU together.
void write_places(const ModelServer& server, const std::vector<ModelInfo>& models, PrometheusText& out) {
  out.family("znni_model_gpu_lost", "gauge", "1 where the CPU computes what was planned for a GPU, with the reason.");
  for (const ModelInfo& model : models) {
    Labels labels = labels_of(model);
    if (!model.gpu_lost.empty()) labels.emplace_back("reason", model.gpu_lost);
    out.sample(labels, std::int64_t{model.gpu_lost.empty() ? 0 : 1});
  }
  const std::optional<GpuLoss> loss = server.gpu_loss();
  out.family("znni_gpu_lost", "gauge", "1 where this process can use its GPU no more, with the reason.");
  out.sample(loss ? Labels{{"reason", loss->reason}} : Labels(), std::int64_t{loss ? 1 : 0});
  out.family("znni_fallback_jobs_total", "counter", "Jobs that succeeded without the GPU that their plan names.");
  for (const ModelInfo& model : models) {
    out.sample(labels_of(model), server.statistics(model.name, model.version).fell_back);
  }
  out.family("znni_nonfinite_voxels_total", "counter",
             "Input voxels that were NaN or infinite, and replaced as the model's configuration says.");
  for (const ModelInfo& model : models) {
    out.sample(labels_of(model), server.statistics(model.name, model.version).replaced);
  }
  out.family("znni_pipeline_idle_seconds_total", "counter",
             "How long CPU and GPU waited for each other in jobs that ran on both.");
  for (const ModelInfo& model : models) {
    const ModelStatistics counted = server.statistics(model.name, model.version);
    for (const auto& [place, seconds] : {std::pair{"cpu", counted.cpu_idle}, std::pair{"gpu", counted.gpu_idle}}) {
      Labels labels = labels_of(model);
      labels.emplace_back("place", place);
      out.sample(labels, seconds);
    }
  }
}

void write_stages(const ModelServer& server, const std::vector<ModelInfo>& models, PrometheusText& out) {
  out.family("znni_stage_seconds_total", "counter",
             "Where the time of jobs goes: input windows, layers before and behind a hand-off, output voxels.");
  for (const ModelInfo& model : models) {
    const StageSeconds stages = server.statistics(model.name, model.version).stages;
    for (const auto& [stage, seconds] : {std::pair{"gather", stages.gather}, std::pair{"head", stages.head},
                                         std::pair{"tail", stages.tail}, std::pair{"stitch", stages.stitch}}) {
      Labels labels = labels_of(model);
      labels.emplace_back("stage", stage);
      out.sample(labels, seconds);
    }
  }
  out.family("znni_guest_jobs_total", "counter", "Jobs that ran in the entries which another job's batch left free.");
  for (const ModelInfo& model : models) {
    out.sample(labels_of(model), server.statistics(model.name, model.version).guests);
  }
}

// Writes the progress of all jobs of a model together: clients make no series.
void write_progress(const ModelServer& server, const std::vector<ModelInfo>& models, PrometheusText& out) {
  out.family(
      "znni_job_voxels", "gauge",
      "Dense output voxels that the requests are for which have started and not ended; done: of those computed.");
  for (const ModelInfo& model : models) {
    const ModelStatistics counted = server.statistics(model.name, model.version);
    for (const auto& [state, voxels] :
         {std::pair{"asked", counted.running_voxels}, std::pair{"done", counted.running_voxels_done}}) {
      Labels labels = labels_of(model);
      labels.emplace_back("state", state);
      out.sample(labels, voxels);
    }
  }
}

void write_jobs(const ModelServer& server, const std::vector<ModelInfo>& models, PrometheusText& out) {
  const auto by_state = [&](std::string_view name, std::string_view help, std::int64_t ModelStatistics::*queued,
                            std::int64_t ModelStatistics::*running) {
    out.family(name, "gauge", help);
    for (const ModelInfo& model : models) {
      const ModelStatistics counted = server.statistics(model.name, model.version);
      for (const auto& [state, value] :
           {std::pair{"queued", counted.*queued}, std::pair{"running", counted.*running}}) {
        Labels labels = labels_of(model);
        labels.emplace_back("state", state);
        out.sample(labels, value);
      }
    }
  };
  by_state("znni_jobs", "Jobs inside, by state: queued, or started and not ended.", &ModelStatistics::queued_now,
           &ModelStatistics::running_now);
  by_state("znni_job_bytes", "Memory that the requests of those jobs hold.", &ModelStatistics::queued_bytes,
           &ModelStatistics::running_bytes);
  write_progress(server, models, out);
  write_places(server, models, out);
  write_stages(server, models, out);
  out.family("znni_seconds_without_progress", "gauge", "Since the job that computes last finished a layer.");
  out.sample({}, server.still());
}

void write_gpu_memory(const MemoryFacts& memory, PrometheusText& out) {
  if (memory.device_limit == 0) return;
  out.family("znni_gpu_memory_budget_bytes", "gauge", "What plans may take for a GPU: of its own memory, and pinned.");
  out.sample({{"space", "device"}}, memory.device_limit);
  out.sample({{"space", "pinned"}}, memory.pinned_limit);
  out.family("znni_gpu_memory_used_bytes", "gauge", "Of that, what loaded models hold.");
  out.sample({{"space", "device"}}, memory.device_used);
  out.sample({{"space", "pinned"}}, memory.pinned_used);
}

void write_memory(const ModelServer& server, const MemoryShares& shares, PrometheusText& out) {
  const MemoryFacts memory = server.memory();
  out.family("znni_memory_budget_bytes", "gauge", "Shares of --mem.");
  out.sample({{"pool", "process"}}, shares.base);
  out.sample({{"pool", "receiving"}}, shares.receiving);
  out.sample({{"pool", "transport"}}, memory.transport_limit);
  out.sample({{"pool", "models"}}, memory.models_limit);
  out.family("znni_memory_used_bytes", "gauge", "Of the shares that are given out by the byte.");
  out.sample({{"pool", "transport"}}, memory.transport_used);
  out.sample({{"pool", "models"}}, memory.models_used);
  out.family("znni_memory_peak_bytes", "gauge", "The most that was used since the start.");
  out.sample({{"pool", "transport"}}, memory.transport_peak);
  write_gpu_memory(memory, out);
  write_process_metrics(out);
}

}  // namespace

void write_server_metrics(const ModelServer& server, const MemoryShares& shares, std::string_view version,
                          PrometheusText& out) {
  out.family("znni_build_info", "gauge", "Always 1.");
  out.sample({{"version", std::string(version)}}, std::int64_t{1});
  out.family("znni_ready", "gauge", "1 when a request to every configured model would be admitted.");
  out.sample({}, std::int64_t{server.ready() ? 1 : 0});
  const std::vector<ModelInfo> models = server.models();
  write_models(models, out);
  write_jobs(server, models, out);
  write_memory(server, shares, out);
}

std::optional<std::string> unready_reason(const ModelServer& models) {
  if (models.ready()) return std::nullopt;
  for (const ModelInfo& model : models.models()) {
    if (!model.expected) continue;
    if (model.state == ModelState::loading) return "model '" + model.name + "' is still loading: " + model.reason;
    if (model.state == ModelState::unavailable) return "model '" + model.name + "' is unavailable: " + model.reason;
  }
  return "the server is shutting down";
}

std::optional<std::string> stuck_reason(const ModelServer& models, Seconds max_seconds) {
  const Seconds still = models.still();
  if (still <= max_seconds) return std::nullopt;
  return "the job that computes has shown no progress for " + std::to_string(std::llround(still)) + " s";
}

}  // namespace znni
