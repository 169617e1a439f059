#include "server/rpc/volume_outlook.hpp"

#include "server/rpc/request_checks.hpp"
#include "server/rpc/volume_checks.hpp"

namespace znni::rpc {
Result<v1::VolumeOutlook> volume_outlook(v1::VolumeHeader header, const ModelServer& models) {
  if (Result<void> legal = check_version(header.model_name(), header.model_version()); !legal) return legal.error();
  const Result<ModelInfo> model = models.find(header.model_name(), header.model_version());
  if (!model) return model.error();
  header.set_first_plane(0);
  const Result<VolumeHead> head = check_volume_header(header, *model);
  if (!head) return head.error();
  Result<VolumeCut> cut = models.cut(model->name, model->version, head->volume, head->output_type);
  if (!cut) return cut.error();
  const Vec3 output = head->volume.n - model->field_of_view + Vec3::cube(1);
  if (head->whole) *cut = {output, 1, cut->whole_seconds, cut->whole_seconds};
  v1::VolumeOutlook outlook;
  set_extent(output, *outlook.mutable_extent());
  outlook.set_predicted_seconds(cut->whole_seconds);
  set_extent(cut->part, *outlook.mutable_part());
  outlook.set_parts(cut->parts);
  outlook.set_predicted_seconds_in_parts(cut->seconds);
  return outlook;
}

}  // namespace znni::rpc
