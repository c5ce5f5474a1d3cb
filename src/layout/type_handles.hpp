// The datatypes that this process has made, by the handles that programs have for them. They belong to no universe.
// Handles are greater than every element type, and none is used again. Every function may be called by any thread.
// Tests: tests/unit/layout/type_handles_test.cpp.
#pragma once

#include <memory>
#include <string>

#include "base/status.hpp"
#include "layout/datatype.hpp"

namespace couplet::layout {

// Keeps a datatype, and returns its handle. limit: too many have been made.
[[nodiscard]] Result<couplet_type> keep_datatype(Datatype made);
// Returns the datatype of a handle, or nullptr. It stays as it is when its handle is freed.
[[nodiscard]] std::shared_ptr<const Datatype> find_datatype(couplet_type handle);
// Returns the datatype of a handle or of an element type, or nullptr.
[[nodiscard]] std::shared_ptr<const Datatype> find_datatype_or_element(couplet_type type);
// Says what a value is that is given as an element type and is none: a datatype, or nothing.
[[nodiscard]] std::string why_no_element(couplet_type type);
// Returns false if there is no such handle.
bool free_datatype(couplet_type handle);

}  // namespace couplet::layout
