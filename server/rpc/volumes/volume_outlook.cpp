#include "server/rpc/volumes/volume_outlook.hpp"

#include "server/rpc/base/client_text.hpp"
#include "server/rpc/messages/request_checks.hpp"
#include "server/rpc/volumes/volume_checks.hpp"

namespace znni::rpc {
namespace {

Error too_large(const ModelInfo& model, const VolumeShape& volume, std::int64_t most) {
  return {ErrorCode::over_budget, "model " + in_quotes(model.name) + ": it wants the whole volume of " +
                                      bytes_text(volume_bytes(volume)) + " at once; requests have " + bytes_text(most) +
                                      " of memory"};
}

}  // namespace

Result<v1::VolumeOutlook> volume_outlook(v1::VolumeHeader header, const ModelServer& models,
                                         const std::stop_token& stop) {
  if (Result<void> legal = check_version(header.model_name(), header.model_version()); !legal) return legal.error();
  const Result<ModelInfo> model = models.find(header.model_name(), header.model_version());
  if (!model) return model.error();
  header.set_first_plane(0);
  const Result<VolumeHead> head = check_volume_header(header, *model);
  if (!head) return head.error();
  Result<VolumeCut> cut = models.cut(model->name, model->version, head->volume, head->output_type, stop);
  if (!cut) return cut.error();
  const Vec3 output = head->volume.n - model->field_of_view + Vec3::cube(1);
  const std::int64_t most = models.memory().transport_limit;
  if (head->whole && volume_bytes(head->volume) > most) return too_large(*model, head->volume, most);
  if (head->whole) *cut = {output, 1, cut->whole_seconds, cut->whole_seconds};
  v1::VolumeOutlook estimate;
  set_extent(output, *estimate.mutable_extent());
  estimate.set_predicted_seconds(cut->whole_seconds);
  set_extent(cut->part, *estimate.mutable_part());
  estimate.set_parts(cut->parts);
  estimate.set_predicted_seconds_in_parts(cut->seconds);
  return estimate;
}

}  // namespace znni::rpc
