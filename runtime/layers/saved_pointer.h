// SPDX-License-Identifier: Apache-2.0
//
// Objects that outlive a backward, kept in an autograd context, which holds numbers but no
// pointers.
//
//   context->saved_data["group"] = to_saved(group);
//   const auto* group = from_saved<const TensorGroup>(context->saved_data["group"]);
//
// Not owning: the object is there as long as the graph.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>

namespace omnibal::runtime {

template <class T>
std::int64_t to_saved(T* object) {
  return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(object));
}

template <class T>
T* from_saved(const at::IValue& value) {
  return reinterpret_cast<T*>(static_cast<std::intptr_t>(value.toInt()));
}

}  // namespace omnibal::runtime
