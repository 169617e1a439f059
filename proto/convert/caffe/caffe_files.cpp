#include "proto/convert/caffe/caffe_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "primitives/core/shape.hpp"
#include "proto/convert/base/errors.hpp"
#include "proto/convert/base/read_file.hpp"
#include "proto/convert/base/text_format.hpp"
#include "proto/convert/caffe/caffe_layers.hpp"

namespace znni {
namespace {

constexpr std::int64_t max_message_bytes = (std::int64_t{1} << 31) - 1;
constexpr std::string_view ending = ".prototxt";

// Fields that only training, or the choice among equal implementations, reads.
constexpr std::array<std::string_view, 11> skipped = {"bias_filler",      "data_filler",  "debug_info",
                                                      "engine",           "filler",       "force_backward",
                                                      "force_nd_im2col",  "in_place",     "moving_average_fraction",
                                                      "stable_prod_grad", "weight_filler"};

// Fields of a layer that only training reads, or layers of other types than those that are read.
constexpr std::array<std::string_view, 32> skipped_of_layers = {"accuracy_param",
                                                                "argmax_param",
                                                                "clip_param",
                                                                "contrastive_loss_param",
                                                                "data_param",
                                                                "embed_param",
                                                                "exp_param",
                                                                "hdf5_data_param",
                                                                "hdf5_output_param",
                                                                "hinge_loss_param",
                                                                "image_data_param",
                                                                "infogain_loss_param",
                                                                "log_param",
                                                                "loss_param",
                                                                "loss_weight",
                                                                "lrn_param",
                                                                "memory_data_param",
                                                                "mvn_param",
                                                                "param",
                                                                "parameter_param",
                                                                "phase",
                                                                "propagate_down",
                                                                "python_param",
                                                                "recurrent_param",
                                                                "reduction_param",
                                                                "reshape_param",
                                                                "spp_param",
                                                                "swish_param",
                                                                "threshold_param",
                                                                "tile_param",
                                                                "transform_param",
                                                                "window_data_param"};

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Error old_format(const char* program) {
  return unsupported("is in Caffe's format before 2015 ('layers'): upgrade it by Caffe's own " + std::string(program));
}

bool meets(const caffe::NetStateRule& rule, const caffe::NetState& state) {
  const auto has_stage = [&](const std::string& stage) {
    return std::find(state.stage().begin(), state.stage().end(), stage) != state.stage().end();
  };
  if (rule.has_phase() && rule.phase() != caffe::TEST) return false;
  if (rule.has_min_level() && state.level() < rule.min_level()) return false;
  if (rule.has_max_level() && state.level() > rule.max_level()) return false;
  const auto& not_stage = rule.not_stage();
  return std::all_of(rule.stage().begin(), rule.stage().end(), has_stage) &&
         std::none_of(not_stage.begin(), not_stage.end(), has_stage);
}

bool is_tested(const caffe::LayerParameter& layer, const caffe::NetState& state) {
  const auto is_met = [&](const caffe::NetStateRule& rule) { return meets(rule, state); };
  if (layer.include_size() > 0) return std::any_of(layer.include().begin(), layer.include().end(), is_met);
  return std::none_of(layer.exclude().begin(), layer.exclude().end(), is_met);
}

// Returns whether the net computes the same without the field. One of a layer that is not read is of its type.
bool may_skip(const UnknownField& field, const caffe::NetParameter& net) {
  if (field.message == "znni.caffe.V1LayerParameter") return true;
  if (field.message != "znni.caffe.LayerParameter") return is_among(skipped, field.field);
  if (is_among(skipped_of_layers, field.field)) return true;
  if (field.element < 0 || field.element >= net.layer_size()) return false;
  const caffe::LayerParameter& layer = net.layer(field.element);
  return !is_caffe_layer(layer.type()) || !is_tested(layer, net.state());
}

// Parses the file as it is read.
bool parse_file(const std::string& path, caffe::NetParameter& net) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  google::protobuf::io::FileInputStream stream(file);
  stream.SetCloseOnDelete(true);
  return net.ParseFromZeroCopyStream(&stream);
}

}  // namespace

Result<caffe::NetParameter> parse_caffe_net(std::string_view text) {
  caffe::NetParameter net;
  const auto parsed = parse_text_skipping(text, net, [&](const UnknownField& field) { return may_skip(field, net); });
  if (!parsed) return parsed.error();
  if (net.layers_size() > 0) return old_format("upgrade_net_proto_text");
  const auto first_left_out =
      std::stable_partition(net.mutable_layer()->begin(), net.mutable_layer()->end(),
                            [&](const caffe::LayerParameter& layer) { return is_tested(layer, net.state()); });
  net.mutable_layer()->erase(first_left_out, net.mutable_layer()->end());
  if (net.layer_size() == 0) return corrupt("has no layers");
  return net;
}

Result<caffe::NetParameter> read_caffe_numbers(const std::string& path, std::int64_t max_weight_bytes) {
  // A file may hold each number and its last change, both as double.
  constexpr std::int64_t names = std::int64_t{1} << 20;
  const Result<std::int64_t> bytes = bytes_of_regular_file(path, max_message_bytes);
  if (!bytes) return bytes.error();
  if (*bytes > add(mul(4, max_weight_bytes), names)) {
    return Error{ErrorCode::over_budget, path + ": its " + bytes_text(*bytes) + " hold more than the " +
                                             bytes_text(max_weight_bytes) + " that may be used for all of the model"};
  }
  caffe::NetParameter net;
  if (!parse_file(path, net)) {
    return corrupt("no file of Caffe's numbers, or cut short (" + std::to_string(*bytes) + " bytes)").within(path);
  }
  if (net.layers_size() > 0) return old_format("upgrade_net_proto_binary").within(path);
  return net;
}

std::string caffe_numbers_beside(const std::string& path) {
  const bool ends = path.ends_with(ending);
  return path.substr(0, path.size() - (ends ? ending.size() : 0)) + ".caffemodel";
}

}  // namespace znni
