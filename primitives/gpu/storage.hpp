// The element types for which kernels are launched.
#pragma once

namespace znni::cuda {

enum class Storage : int { f32, f16, bf16, u8 };

constexpr int storage_bytes(Storage storage) { return storage == Storage::f32 ? 4 : storage == Storage::u8 ? 1 : 2; }

}  // namespace znni::cuda
