#include "layout/type_handles.hpp"

#include <limits>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace couplet::layout {
namespace {

constexpr couplet_type first_handle = 1 << 16;

struct Handles {
  std::shared_mutex mutex;
  std::unordered_map<couplet_type, std::shared_ptr<const Datatype>> datatypes;
  couplet_type next = first_handle;
};

Handles& handles() {
  static Handles all;
  return all;
}

}  // namespace

Result<couplet_type> keep_datatype(Datatype made) {
  auto kept = std::make_shared<const Datatype>(std::move(made));
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  if (all.next == std::numeric_limits<couplet_type>::max()) {
    return fail(Code::limit, "this process has made {} types", all.next - first_handle);
  }
  all.datatypes.emplace(all.next, std::move(kept));
  return all.next++;
}

std::shared_ptr<const Datatype> find_datatype(couplet_type handle) {
  if (handle < first_handle) {
    return nullptr;
  }
  Handles& all = handles();
  const std::shared_lock lock(all.mutex);
  const auto found = all.datatypes.find(handle);
  return found == all.datatypes.end() ? nullptr : found->second;
}

std::shared_ptr<const Datatype> find_datatype_or_element(couplet_type type) {
  const TypeInfo* const element = find_type(type);
  return element == nullptr ? find_datatype(type) : std::make_shared<const Datatype>(*element);
}

std::string why_no_element(couplet_type type) {
  const int number = static_cast<int>(type);
  return find_datatype(type) == nullptr ? fmt::format("{} is no element type", number)
                                        : fmt::format("{} is a datatype; an element type is needed here", number);
}

bool free_datatype(couplet_type handle) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  return all.datatypes.erase(handle) > 0;
}

}  // namespace couplet::layout
