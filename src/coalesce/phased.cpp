#include "coalesce/phased.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/counted.hpp"
#include "base/types.hpp"
#include "wire/numbers.hpp"

namespace couplet::coalesce {
namespace {

using exchange::Direction;

constexpr std::uint64_t head_bytes = 8;
// The tags of the two directions.
constexpr std::int64_t down_tag = 0;
constexpr std::int64_t up_tag = 1;

// Does something that begins every `every` rounds come to this place in `round`, `delay` rounds after it began? began:
// gets when.
bool is_due(std::uint64_t round, std::uint64_t delay, std::uint64_t every, std::uint64_t& began) {
  if (round < delay || (round - delay) % every != 0) return false;
  began = round - delay;
  return true;
}

// Declares a part on the way from or to a rank in the rounds delay, delay + every, ...
Status declare_parcel(CommunicationsManager& manager, std::size_t place, const PhasedOptions& options,
                      Direction direction, std::int32_t peer, std::int64_t tag, std::uint64_t delay, Parcel& parcel,
                      std::uint64_t capacity_bytes) {
  parcel.bytes.resize(head_bytes + capacity_bytes);
  Request request{.phase = options.phase, .is_optional = true};
  request.edge.direction = direction;
  request.edge.peer = peer;
  request.edge.tag = tag;
  request.edge.title = options.terms;
  request.edge.regions = {{.memory = parcel.bytes.data(), .run_bytes = parcel.bytes.size()}};
  request.edge.is_variable = true;
  request.edge.every = options.every;
  request.edge.offset = delay;
  COUPLET_TRY_VALUE(parcel.request, manager.add(place, std::move(request)));
  return {};
}

// Puts a value into a part; one without givers is not sent.
Status send(CommunicationsManager& manager, Parcel& parcel, const Slots::Slot& slot) {
  if (slot.givers == 0) return {};
  wire::put_little(parcel.bytes.data(), slot.givers);
  if (slot.bytes > 0) std::memcpy(parcel.bytes.data() + head_bytes, slot.data.data(), slot.bytes);
  return manager.set_length(parcel.request, head_bytes + slot.bytes);
}

// Takes a value out of a part that has come.
Status receive(const CommunicationsManager& manager, const Parcel& parcel, Slots::Slot& slot) {
  COUPLET_TRY_VALUE(const std::uint64_t bytes, manager.length(parcel.request));
  slot.givers = 0;
  slot.bytes = 0;
  if (bytes == 0) return {};
  if (bytes < head_bytes) return fail(Code::protocol, "a part of {} bytes is shorter than its head", bytes);
  slot.givers = wire::take_little<std::uint64_t>(parcel.bytes.data());
  slot.bytes = bytes - head_bytes;
  if (slot.bytes > 0) std::memcpy(slot.data.data(), parcel.bytes.data() + head_bytes, slot.bytes);
  return {};
}

// How many values are under way at a time, at most.
std::uint64_t slots_for(std::uint64_t rounds, std::uint64_t every) {
  return rounds / every + 2;
}

Tree tree_for(const CommunicationsManager& manager, const PhasedOptions& options) {
  return Tree::of(manager.group().rank(), manager.group().size(), options.root, options.arity);
}

// The largest value, so that no sum of sizes overflows.
constexpr std::uint64_t max_value_bytes = std::uint64_t{1} << 40U;

Status check_options(const StepManager& manager, const PhasedOptions& options, std::uint64_t bytes) {
  const auto wrong = [&](const std::string& text) {
    return fail(Code::argument, "client '{}': {}", options.name, text);
  };
  const std::int32_t size = manager.communications().group().size();
  if (options.root < 0 || options.root >= size) {
    return wrong(fmt::format("root must be 0 to {}, not {}", size - 1, options.root));
  }
  if (options.arity < 1) return wrong(fmt::format("arity must be at least 1, not {}", options.arity));
  if (options.every < 1) return wrong("every must be at least 1, not 0");
  if (bytes > max_value_bytes) return wrong(fmt::format("a value has {} bytes, more than {}", bytes, max_value_bytes));
  return {};
}

template <typename Phased>
Result<std::size_t> add(StepManager& manager, std::unique_ptr<Phased> client) {
  Phased& phased = *client;
  COUPLET_TRY_VALUE(const std::size_t place, manager.add(std::move(client)));
  if (Status declared = phased.declare(place); !declared.ok()) {
    static_cast<void>(manager.remove(place));
    return declared;
  }
  return place;
}

}  // namespace

Slots::Slots(std::uint64_t slot_count, std::uint64_t every, std::uint64_t capacity_bytes) : every_(every) {
  slots_.resize(slot_count);
  for (Slot& slot : slots_) slot.data.resize(capacity_bytes);
}

// ---- broadcast ----

PhasedBroadcast::PhasedBroadcast(CommunicationsManager& manager, const PhasedOptions& options,
                                 std::uint64_t capacity_bytes, Give give, Take take)
    : manager_(manager),
      options_(options),
      capacity_bytes_(capacity_bytes),
      give_(std::move(give)),
      take_(std::move(take)),
      tree_(tree_for(manager, options)),
      slots_(slots_for(static_cast<std::uint64_t>(tree_.height), options.every), options.every, capacity_bytes) {}

Status PhasedBroadcast::declare(std::size_t place) {
  const auto depth = static_cast<std::uint64_t>(tree_.depth);
  outgoing_.resize(tree_.children.size());
  for (std::size_t child = 0; child < outgoing_.size(); ++child) {
    COUPLET_TRY(declare_parcel(manager_, place, options_, Direction::out, tree_.children[child], down_tag, depth,
                               outgoing_[child], capacity_bytes_));
  }
  if (tree_.parent < 0) return {};
  return declare_parcel(manager_, place, options_, Direction::in, tree_.parent, down_tag, depth - 1, incoming_,
                        capacity_bytes_);
}

std::uint64_t PhasedBroadcast::latency() const noexcept {
  return static_cast<std::uint64_t>(std::max(tree_.height, 1));
}

Status PhasedBroadcast::fill(const Moment& moment) {
  if (moment.phase != options_.phase) return {};
  std::uint64_t began = 0;
  if (tree_.parent < 0 && is_due(moment.round, 0, options_.every, began)) {
    Slots::Slot& slot = slots_.of(began);
    slot.bytes = capacity_bytes_;
    COUPLET_TRY_VALUE(const bool is_given, give_(moment.round, slot.data.data(), slot.bytes));
    slot.givers = is_given ? 1 : 0;
    if (slot.bytes > capacity_bytes_) {
      return fail(Code::limit, "{} given, and there is room for {}", counted(slot.bytes, "byte is", "bytes are"),
                  capacity_bytes_);
    }
  }
  if (!is_due(moment.round, static_cast<std::uint64_t>(tree_.depth), options_.every, began)) return {};
  for (Parcel& parcel : outgoing_) COUPLET_TRY(send(manager_, parcel, slots_.of(began)));
  return {};
}

Status PhasedBroadcast::use(const Moment& moment) {
  if (moment.phase != options_.phase) return {};
  std::uint64_t began = 0;
  if (tree_.parent >= 0 && is_due(moment.round, static_cast<std::uint64_t>(tree_.depth) - 1, options_.every, began)) {
    COUPLET_TRY(receive(manager_, incoming_, slots_.of(began)));
  }
  if (!is_due(moment.round, latency() - 1, options_.every, began)) return {};
  const Slots::Slot& slot = slots_.of(began);
  return slot.givers == 0 ? Status() : take_(began, slot.givers, slot.data.data(), slot.bytes);
}

// ---- reduction ----

PhasedReduction::PhasedReduction(CommunicationsManager& manager, const PhasedOptions& options, const Values& values,
                                 Give give, Take take)
    : manager_(manager),
      options_(options),
      values_(values),
      give_(std::move(give)),
      take_(std::move(take)),
      tree_(tree_for(manager, options)),
      bytes_(values.count * find_type(values.type)->element_bytes),
      rising_(slots_for(static_cast<std::uint64_t>(tree_.height), options.every), options.every, bytes_),
      falling_(slots_for(2 * static_cast<std::uint64_t>(tree_.height), options.every), options.every, bytes_) {}

Result<std::unique_ptr<PhasedReduction>> PhasedReduction::make(CommunicationsManager& manager,
                                                               const PhasedOptions& options, const Values& values,
                                                               Give give, Take take) {
  if (find_type(values.type) == nullptr) {
    return fail(Code::type, "{} is no element type", static_cast<int>(values.type));
  }
  const collective::Operations operations;
  COUPLET_TRY(operations.check(values.operation, values.type, values.count));
  PhasedOptions named = options;
  named.terms = fmt::format("{} of {} {}{}", operations.name_of(values.operation), values.count,
                            find_type(values.type)->name, values.to_all ? " for all" : "");
  return std::unique_ptr<PhasedReduction>(
      new PhasedReduction(manager, named, values, std::move(give), std::move(take)));
}

Status PhasedReduction::declare(std::size_t place) {
  const auto depth = static_cast<std::uint64_t>(tree_.depth);
  const auto height = static_cast<std::uint64_t>(tree_.height);
  rises_.resize(tree_.children.size());
  falls_.resize(values_.to_all ? tree_.children.size() : 0);
  for (std::size_t child = 0; child < rises_.size(); ++child) {
    COUPLET_TRY(declare_parcel(manager_, place, options_, Direction::in, tree_.children[child], up_tag,
                               height - depth - 1, rises_[child], bytes_));
    if (!values_.to_all) continue;
    COUPLET_TRY(declare_parcel(manager_, place, options_, Direction::out, tree_.children[child], down_tag,
                               height + depth, falls_[child], bytes_));
  }
  if (tree_.parent < 0) return {};
  COUPLET_TRY(
      declare_parcel(manager_, place, options_, Direction::out, tree_.parent, up_tag, height - depth, up_, bytes_));
  if (!values_.to_all) return {};
  return declare_parcel(manager_, place, options_, Direction::in, tree_.parent, down_tag, height + depth - 1, down_,
                        bytes_);
}

Status PhasedReduction::give(std::uint64_t round) {
  Slots::Slot& slot = rising_.of(round);
  slot.bytes = bytes_;
  COUPLET_TRY_VALUE(const bool is_given, give_(round, slot.data.data(), slot.bytes));
  slot.givers = is_given ? 1 : 0;
  if (is_given && slot.bytes != bytes_) {
    return fail(Code::argument, "{} given to a reduction of {}", counted(slot.bytes, "byte is", "bytes are"), bytes_);
  }
  return {};
}

Status PhasedReduction::fill(const Moment& moment) {
  if (moment.phase != options_.phase) return {};
  const auto depth = static_cast<std::uint64_t>(tree_.depth);
  const auto height = static_cast<std::uint64_t>(tree_.height);
  std::uint64_t began = 0;
  if (is_due(moment.round, 0, options_.every, began)) COUPLET_TRY(give(began));
  if (tree_.parent >= 0 && is_due(moment.round, height - depth, options_.every, began)) {
    COUPLET_TRY(send(manager_, up_, rising_.of(began)));
  }
  if (!falls_.empty() && is_due(moment.round, height + depth, options_.every, began)) {
    for (Parcel& parcel : falls_) COUPLET_TRY(send(manager_, parcel, falling_.of(began)));
  }
  return {};
}

// The own value comes first, then those of the children in their order.
Status PhasedReduction::combine(Slots::Slot& slot, Parcel& from) {
  COUPLET_TRY_VALUE(const std::uint64_t bytes, manager_.length(from.request));
  if (bytes == 0) return {};
  if (bytes != head_bytes + bytes_) {
    return fail(Code::protocol, "a part of {} bytes has come, not of {}", bytes, head_bytes + bytes_);
  }
  const auto givers = wire::take_little<std::uint64_t>(from.bytes.data());
  std::byte* const value = from.bytes.data() + head_bytes;
  if (slot.givers == 0) {
    slot.bytes = bytes_;
    if (bytes_ > 0) std::memcpy(slot.data.data(), value, bytes_);
  } else {
    COUPLET_TRY(operations_.combine(values_.operation, values_.type, collective::Side::left, value, slot.data.data(),
                                    values_.count));
  }
  slot.givers += givers;
  return {};
}

Status PhasedReduction::hand_out(std::uint64_t began, Slots::Slot& slot) {
  return slot.givers == 0 ? Status() : take_(began, slot.givers, slot.data.data(), slot.bytes);
}

Status PhasedReduction::use(const Moment& moment) {
  if (moment.phase != options_.phase) return {};
  const auto depth = static_cast<std::uint64_t>(tree_.depth);
  const auto height = static_cast<std::uint64_t>(tree_.height);
  std::uint64_t began = 0;
  if (!rises_.empty() && is_due(moment.round, height - depth - 1, options_.every, began)) {
    for (Parcel& parcel : rises_) COUPLET_TRY(combine(rising_.of(began), parcel));
  }
  const std::uint64_t risen = height == 0 ? 0 : height - 1;  // rounds until the root has everything
  if (tree_.parent < 0 && is_due(moment.round, risen, options_.every, began)) {
    if (!values_.to_all || height == 0) return hand_out(began, rising_.of(began));
    falling_.of(began) = rising_.of(began);
  }
  if (!values_.to_all || height == 0) return {};
  if (tree_.parent >= 0 && is_due(moment.round, height + depth - 1, options_.every, began)) {
    COUPLET_TRY(receive(manager_, down_, falling_.of(began)));
  }
  if (!is_due(moment.round, 2 * height - 1, options_.every, began)) return {};
  return hand_out(began, falling_.of(began));
}

Result<std::size_t> add_broadcast(StepManager& manager, const PhasedOptions& options, std::uint64_t capacity_bytes,
                                  Give give, Take take) {
  COUPLET_TRY(check_options(manager, options, capacity_bytes));
  return add(manager, std::make_unique<PhasedBroadcast>(manager.communications(), options, capacity_bytes,
                                                        std::move(give), std::move(take)));
}

Result<std::size_t> add_reduction(StepManager& manager, const PhasedOptions& options,
                                  const PhasedReduction::Values& values, Give give, Take take) {
  const TypeInfo* const type = find_type(values.type);
  if (type == nullptr) return fail(Code::type, "{} is no element type", static_cast<int>(values.type));
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(values.count, type->element_bytes, &bytes)) bytes = UINT64_MAX;
  COUPLET_TRY(check_options(manager, options, bytes));
  COUPLET_TRY_VALUE(auto client,
                    PhasedReduction::make(manager.communications(), options, values, std::move(give), std::move(take)));
  return add(manager, std::move(client));
}

}  // namespace couplet::coalesce
